import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sampleFailure, sampleResult } from '../reports/testing/samples.ts';
import { temporaryFolder } from '../targets/testing/places.ts';
import { applyBaseline, type BaselineEntry, readBaseline, updatedBaseline, writeBaseline } from './baseline.ts';
import { comparableText } from './causes.ts';
import { coverageOf } from './coverage.ts';
import { suite as made } from './define.ts';
import { ALSO_WHEN_ASKED } from './form-variation.ts';
import { makePlan } from './plan.ts';
import { exitCode } from './results.ts';
import { declared, planOf, run } from './testing/checks.ts';
import { type CheckResult, OUTCOMES } from './types.ts';

const TODAY = '2026-11-21';
const ids = ['device.a', 'device.b', 'device.c'];
const suite = { api: 'device', ids } as const;
const { expected = '', actual = '' } = sampleFailure();
const finding = { expected: 'a first event with an id above #a', actual: 'the first event has id #a' };
const entry = (check: string, expires = '2026-12-31', change: Partial<BaselineEntry> = {}): BaselineEntry => ({
  check,
  finding,
  reason: 'until 1.4',
  expires,
  ...change,
});
const flaky = (check: string, expires?: string): BaselineEntry => entry(check, expires, { kind: 'flaky' });

test.each<[Partial<BaselineEntry>, string]>([
  [{}, 'until 1.4 (bug, excused until 2026-12-31)'],
  [{ kind: 'waiver', owner: 'ada' }, 'until 1.4 (waiver, owner ada, excused until 2026-12-31)'],
])('an excused failure becomes known for the reason of its entry %j, and fails no run', (change, reason) => {
  const known = [entry('device.a', '2026-12-31', change)];
  const results = applyBaseline([sampleFailure({ id: 'device.a' })], { known }, TODAY, suite);
  expect(results).toMatchObject([{ outcome: 'known', reason }]);
  expect(exitCode(results)).toBe(0);
});

test('a finding that differs from the excused one fails, and quotes the excused one', () => {
  const worse = [sampleFailure({ id: 'device.a', actual: 'no event came' })];
  const results = applyBaseline(worse, { known: [entry('device.a')] }, TODAY, suite);
  const other = /^the baseline excuses another finding of this check: expected a first event .*; actual: the first/;
  expect(results).toMatchObject([{ outcome: 'fail', reason: expect.stringMatching(other) }]);
  expect(exitCode(results)).toBe(1);
  const both = [entry('device.a'), entry('device.a', '2027-01-01', { finding: { expected, actual: 'no event came' } })];
  expect(applyBaseline(worse, { known: both }, TODAY, suite)[0]?.outcome).toBe('known');
});

test('a check blocked by a known failure stays blocked and undecided', () => {
  const failed = sampleFailure({ id: 'device.a' });
  const blocked = sampleResult({ id: 'device.b', outcome: 'blocked', reason: 'by another', blocked_by: 'device.a' });
  const results = applyBaseline([failed, blocked], { known: [entry('device.a')] }, TODAY, suite);
  const reason = 'by another, whose failure the baseline excuses';
  expect(results[1]).toMatchObject({ outcome: 'blocked', blocked_by: 'device.a', reason });
  expect(exitCode(results)).toBe(2);
  expect(coverageOf(planOf(results), results, []).decided).toBe(1);
});

test('a flaky check stays flaky on a pass or its finding, and fails otherwise', () => {
  const settle = (result: CheckResult, today = TODAY) =>
    applyBaseline([result], { known: [flaky('device.a')] }, today, suite);
  const failing = sampleFailure({ id: 'device.a' });
  const [passed, failed] = [settle(sampleResult({ id: 'device.a' })), settle(failing)];
  expect(passed[0]).toMatchObject({
    outcome: 'flaky',
    reason: 'passed this time: until 1.4 (flaky, excused until 2026-12-31)',
  });
  expect(failed[0]).toMatchObject({ outcome: 'flaky', reason: expect.stringMatching(/^failed this time: until 1.4/) });
  expect([passed, failed].map((each) => exitCode(each))).toEqual([0, 0]);
  expect(coverageOf(planOf([failing]), failed, []).decided).toBe(1);
  expect(settle(sampleFailure({ id: 'device.a', actual: 'no event came' }))[0]?.outcome).toBe('fail');
  expect(settle(failing, '2027-01-01')[0]?.outcome).toBe('fail');
  expect(settle(sampleResult({ id: 'device.a' }), '2027-01-01')[0]?.outcome).toBe('fixed');
});

test('an entry excuses its finding through its last day, and not after', () => {
  const failing = [sampleFailure({ id: 'device.a' })];
  const at = (today: string) => applyBaseline(failing, { known: [entry('device.a', TODAY)] }, today, suite);
  expect(at(TODAY)[0]?.outcome).toBe('known');
  expect(at('2026-11-22')[0]).toMatchObject({ outcome: 'fail', reason: 'its excuse ended on 2026-11-21 (until 1.4)' });
  expect(exitCode(at('2026-11-22'))).toBe(1);
});

test('a stale entry names its lines and the flag that removes it', () => {
  const path = join(folder, 'stale.yaml');
  writeBaseline(path, { known: [entry('device.a'), entry('device.b')] });
  const passing = [sampleResult({ id: 'device.b' })];
  const [result] = applyBaseline(passing, readBaseline(path), TODAY, suite);
  const [, from, to] = /^holds now: remove lines (\d+)-(\d+) of .*stale\.yaml, or/.exec(result?.reason ?? '') ?? [];
  expect(result?.reason).toMatch(/, or run this again with --update-baseline \(was excused: until 1\.4\)$/);
  const lines = readFileSync(path, 'utf8').split('\n');
  writeFileSync(path, lines.filter((_, index) => index + 1 < Number(from) || index + 1 > Number(to)).join('\n'));
  expect(readBaseline(path).known).toEqual([entry('device.a')]);
});

test('an entry for an unknown check is an error, unless it names another API or a rule of watches', () => {
  const known = ['device.typo', 'platform.list.walk', 'device.b.watched', 'device.t.watched'].map((id) => entry(id));
  const results = applyBaseline([sampleResult({ id: 'device.a' })], { known }, TODAY, suite);
  expect(results.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
    'device.a pass',
    'baseline:device.typo fixed',
    'baseline:device.t.watched fixed',
  ]);
  expect(exitCode(results)).toBe(2);
});

test('an expired entry of a warning is an error', () => {
  const warned = [sampleFailure({ id: 'device.a', outcome: 'warn', level: 'SHOULD' })];
  const results = applyBaseline(warned, { known: [entry('device.a', '2026-01-01')] }, TODAY, suite);
  expect(results.map(({ outcome }) => outcome)).toEqual(['warn', 'fixed']);
  expect(exitCode(results)).toBe(2);
});

test('an update lists the entries it adds, keeps and removes', () => {
  const other = sampleFailure({ id: 'device.c', actual: 'no event came' });
  const results = [sampleFailure({ id: 'device.a' }), sampleResult({ id: 'device.b' }), other];
  const kept = [flaky('device.c'), entry('device.a.watched')];
  const known = [...kept, ...['device.b', 'device.gone', 'platform.x'].map((id) => entry(id))];
  const update = updatedBaseline(results, { known }, TODAY, suite);
  expect(update.changes).toEqual([
    '+ device.a: expected a first event with an id above #a; actual: the first event has id #a',
    '+ device.c: expected a first event with an id above #; actual: no event came',
    '= device.c: until 1.4 (flaky, excused until 2026-12-31)',
    '= device.a.watched: until 1.4 (bug, excused until 2026-12-31)',
    '- device.b: holds now (was excused: until 1.4)',
    '- device.gone: no check has this id (was excused: until 1.4)',
  ]);
  expect(update.known.find(({ check }) => check === 'device.a')).toEqual({
    check: 'device.a',
    finding,
    kind: 'bug',
    reason: `found on ${TODAY}: expected ${expected}; actual: ${actual}`,
    owner: 'unassigned',
    expires: '2026-12-21',
  });
});

test('an update marks as flaky a finding that is intermittent, with its rate, or shows in one form of requests', () => {
  const rated = (id: string, failed: number): CheckResult =>
    sampleFailure({ id, rate: { times: 3, failed, alone: { times: 3, failed } } });
  const inForm = { ...rated('device.c', 3), expected: `${expected}${ALSO_WHEN_ASKED}with names in capitals` };
  const results = [rated('device.a', 3), rated('device.b', 2), inForm];
  const { known } = updatedBaseline(results, { known: [] }, TODAY, suite);
  expect(known.map(({ kind }) => kind)).toEqual(['bug', 'flaky', 'flaky']);
  expect(known[1]?.reason).toBe(`found on ${TODAY}, 2 of 3 times: expected ${expected}; actual: ${actual}`);
});

test('an update excuses a SHOULD that fails the run, and no other', async () => {
  const should = (id: string) => declared(id, {}, async (t) => t.should(false, { expected, actual }), 'SHOULD');
  const all = [should('device.a'), should('device.b')];
  const plan = makePlan(made<object>('device', [all]), { capabilities: new Set(), failOn: ['device.a'] });
  const settled = (known: readonly BaselineEntry[]) => (results: CheckResult[]) => {
    const update = updatedBaseline(results, { known: [...known] }, TODAY, suite);
    expect(update.known.map(({ check }) => check)).toEqual(['device.a']);
    return applyBaseline(results, update, TODAY, suite);
  };
  for (const known of [[], [flaky('device.a')]]) {
    const { checks, exit_code: exit } = await run(all, { plan, settle: settled(known) });
    expect(checks.map(({ outcome }) => outcome)).toEqual([known.length === 0 ? 'known' : 'flaky', 'warn']);
    expect(exit).toBe(0);
  }
});

test('an updated baseline yields no errors and keeps every undecided entry', () => {
  const outcome = fc.constantFrom(...OUTCOMES.filter((name) => !['known', 'fixed', 'flaky'].includes(name)));
  const day = fc.constantFrom('2026-01-01', TODAY, '2027-01-01');
  fc.assert(
    fc.property(
      fc.record({ 'device.a': outcome, 'device.b': outcome, 'device.c': outcome }),
      fc.uniqueArray(fc.tuple(fc.constantFrom(...ids, 'device.gone', 'platform.x'), day), { selector: ([id]) => id }),
      (outcomes, entries) => {
        const results = Object.entries(outcomes).map(([id, is]) => sampleResult({ id, outcome: is }));
        const before = { known: entries.map(([id, expires]) => entry(id, expires)) };
        const after = updatedBaseline(results, before, TODAY, suite);
        const settled = applyBaseline(results, after, TODAY, suite);
        expect(settled.filter((result) => result.outcome === 'fail' || result.outcome === 'fixed')).toEqual([]);
        for (const { check } of before.known) {
          const decided = results.some(
            ({ id, outcome: is }) => id === check && is !== 'blocked' && is !== 'not_applicable',
          );
          const kept = after.known.some((other) => other.check === check);
          if (check.startsWith('platform.') || (ids.includes(check) && !decided)) expect(kept).toBe(true);
        }
      },
    ),
  );
});

const folder = temporaryFolder();

test.each(['baseline.yaml', 'baseline.json'])('%s is read as it was written', (name) => {
  const path = join(folder, name);
  const owned = { check: 'device.b', reason: 'a: "b" # c\nd', owner: 'ada', expires: '2027-02-28' };
  writeBaseline(path, { known: [flaky('device.a'), owned] });
  expect(readBaseline(path).known).toEqual([flaky('device.a'), owned]);
});

test.each([
  ['known: [', /baseline-bad\.yaml:\d/],
  ['known:\n  - check: device.a\n', /\/known\/0 lacks .*"reason"/],
  ['known:\n  - {check: a, reason: b, expires: soon}\n', /\/known\/0\/expires/],
  ['known:\n  - &e {check: a, reason: b, expires: 2027-01-01}\n  - *e\n', /a is listed twice with one finding/],
  ['known:\n  - {check: a, kind: wontfix, reason: b, expires: 2027-01-01}\n', /kind must be one of "bug", "waiver"/],
])('%j is refused, with the place of the error', (text, words) => {
  const path = join(folder, 'baseline-bad.yaml');
  writeFileSync(path, text);
  expect(() => readBaseline(path)).toThrow(words);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test.each([
  ['example.yaml', ['2027-01-31', '2027-06-30']],
  ['miru-agent.yaml', ['2027-11-30', '2027-11-30']],
])('%s is a valid baseline, with each finding in comparable words', (name, days) => {
  const { known } = readBaseline(join(import.meta.dirname, '../../fixtures/baselines', name));
  expect(known.map(({ expires }) => expires)).toEqual(days);
  expect(known.map(({ finding: has }) => comparableText(has ?? {}))).toEqual(known.map(({ finding: has }) => has));
});
