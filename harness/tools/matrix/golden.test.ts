import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { sampleFailure, sampleReport, sampleResult } from '../../reports/testing/samples.ts';
import type { CheckResult } from '../../runner/types.ts';
import { changesInWords, compareGolden, type Golden, readGolden, recordGolden, writeGolden } from './golden.ts';
import type { Subject, SubjectKind } from './subjects.ts';

const red = (id: string): CheckResult => sampleFailure({ id, requirement_id: id });
const passes = (id: string): CheckResult => sampleResult({ id, requirement_id: id });
const warns = (id: string): CheckResult => ({ ...red(id), level: 'SHOULD', outcome: 'warn' });
const blocked = (id: string): CheckResult => ({ ...passes(id), outcome: 'blocked', reason: 'no answer' });
const open = (id: string): CheckResult => ({ ...passes(id), outcome: 'undecided', reason: 'too little' });

const [A, B, C] = ['device.a', 'device.b', 'device.c'];
const FIRST_SEED = 11;

async function recorded(
  kind: SubjectKind,
  first: CheckResult[],
  second = first,
  { whole = true, ...about }: Partial<Subject> & { whole?: boolean } = {},
) {
  const golden: Golden = { checks: [...first, ...second].map(({ id }) => id), subjects: {}, costs: {} };
  const run: Subject['run'] = async ({ seed }) => sampleReport(seed === FIRST_SEED ? first : second, {});
  const subject: Subject = { api: 'device', kind, name: 'some', run, ...about };
  await recordGolden([subject], { whole, concurrency: 1 }, (name, came) => {
    if (came instanceof Error) throw came;
    golden.subjects[name] = came.row;
    golden.costs[name] = came.cost;
  });
  return golden;
}

const known = new Set(['device defect some', 'device reference some', 'device null some']);
const changes = async (kind: SubjectKind, before: CheckResult[], after: CheckResult[], afterToo = after) =>
  compareGolden(await recorded(kind, before), await recorded(kind, after, afterToo), known).map(
    ({ what, id, was, is }) => `${what} ${id}: ${was} → ${is}`,
  );

const MOVED = 'moved first: device.a → device.b';
const GAINED = 'gained device.b: pass → MUST';
const [UNASKED, BLOCKED] = ['not asked', 'blocked'].map((is) => `moved device.a: MUST → ${is}`) as [string, string];
const LOST = 'lost device.a: MUST → pass';

describe('the comparison with golden outcomes', () => {
  it.for([
    ['the same', 'defect', [red(A), passes(B)], [red(A), passes(B)], []],
    ['a finding less', 'defect', [red(A), red(B)], [red(A), passes(B)], ['lost device.b: MUST → pass']],
    ['a finding more', 'defect', [red(A), passes(B)], [red(A), warns(B)], ['gained device.b: pass → SHOULD']],
    ['a milder finding', 'defect', [red(A), red(B)], [red(A), warns(B)], ['lost device.b: MUST → SHOULD']],
    ['a finding under another id', 'defect', [red(A), passes(C)], [red(B), passes(C)], [MOVED, UNASKED, GAINED]],
    ['a finding that another blocks', 'defect', [red(A), passes(B)], [blocked(A), red(B)], [MOVED, BLOCKED, GAINED]],
    ['a finding gone while another leads', 'defect', [red(A), passes(B)], [passes(A), red(B)], [MOVED, LOST, GAINED]],
    ['a check that passed, gone', 'defect', [red(A), passes(B)], [red(A)], []],
    ['no finding left', 'defect', [red(A), passes(B)], [passes(B)], ['lost device.a: MUST → not asked']],
    ['a check that decides nothing', 'reference', [passes(A)], [open(A)], ['unsteady device.a: pass → undecided']],
    ['a check blocked', 'reference', [passes(A)], [blocked(A)], ['lost device.a: pass → blocked']],
    ['a check gone', 'reference', [passes(A), passes(B)], [passes(A)], []],
    ['a null server that passes', 'null', [red(A), blocked(B)], [red(A), passes(B)], ['lost device.b: as due → pass']],
  ] as [string, SubjectKind, CheckResult[], CheckResult[], string[]][])(
    'shows %s',
    async ([, kind, before, after, expected]) => {
      expect(await changes(kind, before, after)).toEqual(expected);
    },
  );

  it('calls the outcome of a single seed unsteady', async () => {
    const found = [red(A), red(B)];
    const missed = [red(A), passes(B)];
    expect(await changes('defect', found, found, missed)).toEqual(['unsteady device.b: MUST → MUST / pass']);
    expect(await changes('defect', missed, found, missed)).toEqual(['unsteady device.b: pass → MUST / pass']);
  });

  it('shows a missing subject', async () => {
    const before = await recorded('defect', [red(A)]);
    const after: Golden = { checks: [A], subjects: {}, costs: {} };
    expect(compareGolden(before, after, new Set())).toMatchObject([{ what: 'lost', subject: 'device defect some' }]);
  });

  it('covers a narrowed defect with only its own checks', async () => {
    const asked: unknown[] = [];
    const run: Subject['run'] = async (choice) => {
      asked.push(choice);
      return sampleReport([red(A), passes(B)], {});
    };
    const { subjects } = await recorded('defect', [], [], { breaks: [A], beside: [B], run, whole: false });
    expect(subjects).toEqual({ 'device narrowed some': { first: A, [A]: 'MUST', [B]: 'pass' } });
    expect(asked).toEqual([FIRST_SEED, 23].map((seed) => ({ varied: false, seed, only: [A, B] })));
    const before = { checks: [], subjects, costs: {} };
    const none = { ...before, subjects: { 'device narrowed some': { [B]: 'pass' } } };
    expect(compareGolden(before, none, new Set(Object.keys(subjects)))).toMatchObject([
      { what: 'lost', is: 'not asked' },
    ]);
  });

  it('is kept in a file, with the costs in another, and printed by requirement', async () => {
    using folder = scratch();
    const file = join(folder.path, 'device.json');
    const before = await recorded('defect', [red(A), red(B)], [red(A), passes(B)]);
    writeGolden(file, before);
    const read = readGolden(file);
    expect(read.subjects).toEqual({ 'device defect some': { first: A, [A]: 'MUST', [B]: 'MUST / pass' } });
    expect(read.costs).toEqual(before.costs);
    const after = await recorded('defect', [passes(A), passes(B)]);
    expect(changesInWords(compareGolden(read, after, known), read, after)).toEqual([
      'lost      device.a: MUST → pass: device defect some',
      'unsteady  device.b: MUST / pass → pass: device defect some',
      '1 subjects: 1 lost, 0 moved, 1 unsteady, 0 gained',
      expect.stringMatching(/^requests: \d+ → \d+; seconds: \d+ → \d+$/),
    ]);
  });
});
