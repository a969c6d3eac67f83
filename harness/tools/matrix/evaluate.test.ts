import { expect, it, vi } from 'vitest';
import { defined } from '../../common/defined.ts';
import { painter } from '../../common/terminal.ts';
import { sampleFailure, sampleReport, sampleResult } from '../../reports/testing/samples.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import { evaluateSubject, type RunConditions, type Verdict } from './evaluate.ts';
import type { Subject, SubjectKind } from './subjects.ts';
import { closingTable } from './table.ts';

const passes = sampleResult({ id: 'device.events.frame' });
const fails = sampleFailure({ id: 'device.events.types', requirement_id: 'device.events.types' });
const warns = { ...fails, level: 'SHOULD', outcome: 'warn' } as const;
const blocked = sampleResult({ outcome: 'blocked', reason: 'no such socket' });
const waitsOut = { outcome: 'not_applicable', reason: 'not run: --fast leaves out what has to wait' } as const;
const plain = painter({ write: () => {} }, {});

const subjectOf = (kind: SubjectKind, checks: CheckResult[], about: Partial<Subject> = {}): Subject => ({
  api: 'device',
  kind,
  name: 'some-subject',
  file: 'some-subject.ts',
  run: async () => sampleReport(checks, {}),
  ...about,
});

const verdictOn = (
  kind: SubjectKind,
  checks: CheckResult[],
  breaks?: string[],
  manner?: RunConditions,
): Promise<Verdict> => {
  const reason = kind === 'unwilling' ? /such socket/ : undefined;
  return evaluateSubject(subjectOf(kind, checks, defined({ breaks, reason })), manner);
};

const problems = async (...given: Parameters<typeof verdictOn>): Promise<string[]> =>
  (await verdictOn(...given)).problems.map(({ what, todo }) => `${what} → ${todo}`);

it.for([
  ['reference', [passes, warns], undefined, /device.events.types: expected .* is wrong/],
  ['reference', [blocked], undefined, /blocked: device.events.frame: no such socket/],
  ['variant', [fails], undefined, /device.events.types: expected .* leaves this open/],
  ['variant', [blocked], undefined, /blocked/],
  ['null', [passes], undefined, /null server passes device.events.frame/],
  ['unwilling', [blocked, fails], undefined, /device.events.types: expected .* the target is correct/],
  ['unwilling', [{ ...blocked, fault: true }], undefined, /no such socket → name this error/],
  ['unwilling', [passes], undefined, /no check is blocked by .*such socket/],
  ['starved', [fails, blocked], undefined, /device.events.types: expected .* the target is correct/],
  ['defect', [passes], ['device.events.frame'], /not caught by device.events.frame → .*`breaks` in some-subject.ts/],
  ['defect', [passes, fails], ['device.events.frame', 'device.events.types'], /not caught by device.events.frame/],
  ['defect', [blocked], ['device.events.frame'], /not caught .*blocked: device.events.frame: no such socket/],
] as [SubjectKind, CheckResult[], string[] | undefined, RegExp][])(
  'a subject is not ok: %s',
  async ([kind, checks, breaks, expected]) => {
    expect((await problems(kind, checks, breaks)).join('\n')).toMatch(expected);
  },
);

it('a subject with a declared failure rate has its findings retried and compared with it', async () => {
  const asked: unknown[] = [];
  const breaks = ['device.events.types'];
  const rate = { times: 3, failed: 3, alone: { times: 3, failed: 3 } };
  const withRate = async (due: RegExp, manner?: RunConditions): Promise<string[]> => {
    const run: Subject['run'] = async (choice) => {
      asked.push(choice);
      return sampleReport([{ ...fails, rate }], {});
    };
    const subject = subjectOf('defect', [], { breaks, rate: due, beside: ['device.events.frame'], run });
    return (await evaluateSubject(subject, manner)).problems.map(({ what }) => what);
  };
  expect(await withRate(/types: 3 of 3/)).toEqual([]);
  expect(await withRate(/: 2 of 3/)).toEqual(['no finding comes /: 2 of 3/: device.events.types: 3 of 3 times']);
  expect(await withRate(/: 2 of 3/, { whole: true })).toEqual([]);
  const only = [...breaks, 'device.events.frame'];
  const narrowed = { fast: false, varied: false, only, tries: true };
  expect(asked).toEqual([narrowed, narrowed, { fast: false, varied: false }]);
});

it.for(['reference', 'variant'] as const)(
  'a subject has a problem where a true declaration is reported untrue: %s',
  async (kind) => {
    const untrue = { name: 'retention', declared: 'at most 10 events', observed: '11', holds: false };
    const run = async () => sampleReport([passes], { declarations: [untrue, { ...untrue, holds: true }] });
    const { problems: found } = await evaluateSubject(subjectOf(kind, [], { run }));
    expect(found.map(({ what }) => what)).toEqual([
      'not as declared: retention: declared at most 10 events, and seen: 11',
    ]);
  },
);

const told = async (about: Partial<Subject>, kind: SubjectKind, check: CheckResult): Promise<string[]> =>
  (await evaluateSubject(subjectOf(kind, [check], { breaks: [fails.id], ...about }))).problems.map(({ what }) => what);

it('a subject with a defect needs a finding in words, and in the required words', async () => {
  expect(await told({ tells: /expected .*; actual: / }, 'defect', fails)).toEqual([]);
  expect(await told({ tells: /no such words/ }, 'defect', fails)).toEqual(['no finding tells /no such words/']);
  const { actual, ...wordless } = fails;
  expect(actual).toBeDefined();
  for (const check of [wordless, { ...fails, counterexample: '[0,1]' }])
    expect(await told({}, 'defect', check)).toEqual([expect.stringMatching(/is red without words/)]);
});

it('a subject as a reference may lack only the checks that it declares', async () => {
  const lacks = { ...passes, outcome: 'not_applicable', reason: 'needs unix' } as const;
  expect(await told({}, 'reference', lacks)).toEqual([]);
  expect(await told({ notApplicable: /frame/ }, 'reference', lacks)).toEqual([]);
  expect(await told({ notApplicable: /types/ }, 'reference', lacks)).toEqual([
    'not applicable: device.events.frame: needs unix',
  ]);
});

it('a subject as a null server passes no SHOULD alone, and only checks that prove nothing', async () => {
  const should = { ...passes, level: 'SHOULD' } as const;
  expect(await told({ alone: true }, 'null', should)).toHaveLength(1);
  expect(await told({ proves: /types/ }, 'null', passes)).toEqual([]);
  expect(await told({ proves: /frame/ }, 'null', passes)).toHaveLength(1);
});

const waits = { ...passes, id: 'x.waits', requirement_id: 'x.waits' };
const rests = { ...waits, outcome: 'blocked', blocked_by: fails.id, reason: `blocked by ${fails.id}` } as const;
it.for([
  [[fails, rests], ['device.events.types', 'x.waits'], []],
  [[fails, rests], ['x.waits'], ['not caught by x.waits; blocked: x.waits: blocked by device.events.types']],
  [[{ ...waits, ...waitsOut }], ['x.waits'], []],
] as [CheckResult[], string[], string[]][])(
  'a subject with a defect may be found by a premise of its check: %#',
  async (given) => {
    const [checks, breaks, expected] = given;
    const found = await verdictOn('defect', checks, breaks, { whole: true, fast: true });
    expect(found.problems.map(({ what }) => what)).toEqual(expected);
  },
);

it('a subject is limited in time when it runs alone', async () => {
  using clock = vi.spyOn(performance, 'now');
  const run = async (seconds: number): Promise<string[]> => {
    clock.mockReturnValueOnce(0).mockReturnValue(seconds * 1000);
    const { problems: found } = await evaluateSubject(subjectOf('variant', [passes]), { mostMs: 15_000 });
    return found.map(({ what }) => what);
  };
  expect(await run(15)).toEqual([]);
  expect(await run(16)).toEqual(['took 16.0 s, more than 15.0 s']);
});

it('a subject has a problem when it fails to start, without ending the evaluation', async () => {
  const run = () => Promise.reject(new Error('no port'));
  const { problems: found } = await evaluateSubject(subjectOf('reference', [], { run }));
  expect(found).toEqual([expect.objectContaining({ what: expect.stringContaining('no port') })]);
});

const one = sampleFailure({ id: 'device.one', requirement_id: 'device.one' });
const other = sampleFailure({ id: 'device.other', requirement_id: 'device.other' });
const unseen = sampleResult({ id: 'device.other' });

function verdictOnPair(checks: CheckResult[], change: Partial<Report> = {}): Promise<Verdict> {
  const members = ['one', 'other'].map((name) => subjectOf('defect', [], { name, breaks: [`device.${name}`] }));
  const breaks = members.flatMap((member) => member.breaks ?? []);
  const run = async (): Promise<Report> => sampleReport(checks, change);
  return evaluateSubject(subjectOf('defect', [], { name: 'one + other', members, breaks, run }), { pairs: true });
}
const stuck = { ...unseen, outcome: 'blocked', blocked_by: 'device.one', reason: 'blocked by device.one' } as const;

it.for([
  ['shows both', [one, other], {}],
  ['shows one that may follow from the other', [one, { ...other, consequence_of: one.id }], {}],
  ['shows one by a check of its requirement', [one, { ...other, id: 'device.other.again' }], {}],
  ['hides one that no check tells of', [one, unseen], { hidden: ['other'] }],
  ['hides one whose check could not decide', [one, { ...unseen, outcome: 'blocked' }], { hidden: ['other'] }],
  ['hides both', [{ ...unseen, id: 'device.one' }, unseen], { hidden: ['one', 'other'] }],
  ['cannot be asked about both', [one, stuck], { essential: 'device.one', blockedByOthers: 1 }],
  ['owes nothing that an option left out', [one, { ...unseen, ...waitsOut }], {}],
  ['owes nothing of which an option left out a part', [one, unseen, { ...unseen, ...waitsOut }], {}],
] as [string, CheckResult[], Partial<Verdict>][])('a pair of defects %s', async ([, checks, expected]) => {
  const { hidden, essential, blockedByOthers, problems: found } = await verdictOnPair(checks);
  expect(defined({ hidden, essential, blockedByOthers })).toEqual({ hidden: [], blockedByOthers: 0, ...expected });
  expect(found).toEqual([]);
});

it('a pair of defects cannot be judged where the target is unreachable', async () => {
  const verdict = await verdictOnPair([one, { ...unseen, outcome: 'blocked' }], { unreachable: 'no such file' });
  expect(verdict).toMatchObject({ hidden: [], essential: 'reaching the target' });
});

it('the table counts the subjects without problems, and names each problem with its remedy', async () => {
  const verdicts = [
    await verdictOn('reference', [passes]),
    await verdictOn('defect', [passes, fails], ['device.events.types']),
    await verdictOn('defect', [passes], ['device.events.frame']),
  ];
  const parts = [{ api: 'device' as const, verdicts, checks: ['device.events.types', 'device.events.frame'] }];
  const text = closingTable(parts, 1500, plain);
  expect(text).toMatch(/conformant {2}defects caught {2}checks proven/);
  expect(text).toMatch(/^device +1\/1 +1\/2 +1\/2 +– +– +– +–$/m);
  expect(text).toContain('✗ device defect some-subject: not caught by device.events.frame\n  → ');
  expect(text).toContain('✗ device check device.events.frame: red on no defect');
  expect(text).toContain('2 problems: 3 subjects in 1.5 s');
});
