import { describe, expect, it } from 'vitest';
import { annotations } from '../reports/github.ts';
import { htmlFormat } from '../reports/html.ts';
import { junitFormat } from '../reports/junit.ts';
import { prettyText } from '../reports/pretty.ts';
import { verdict } from '../reports/verdict.ts';
import { requirement, suite } from './define.ts';
import { makePlan, type Plan, type PlanOptions } from './plan.ts';
import { declared, one, run } from './testing/checks.ts';
import type { Capability, Check, Report } from './types.ts';
import { AttemptCutOff } from './violation.ts';

const held: Check<object>[] = [
  declared('test.seen'),
  declared('test.made', { needs: ['drive'] }),
  declared('test.stored', { needs: ['drive', 'log'] }),
  declared('test.polite', {}, async () => {}, 'SHOULD'),
];
const ALL: Capability[] = ['drive', 'compact', 'restart', 'log', 'files'];
const words = (report: Report): string => `${verdict(report).word}: ${verdict(report).meaning}`;
const ids = (report: Report): string[] => report.checks.filter((check) => check.in_profile).map(({ id }) => id);

describe('the profile of a run', () => {
  it.each([
    [[], 'observed', ['test.seen']],
    [['drive', 'files'], 'driven', ['test.seen', 'test.made']],
    [ALL, 'full', ['test.seen', 'test.made', 'test.stored']],
  ] as const)('with capabilities %j is %s, the largest within reach', async (capabilities, profile, checks) => {
    const report = await run(held, { capabilities: [...capabilities] });
    expect(report).toMatchObject({ profile, exit_code: 0, complete: true });
    expect(ids(report)).toEqual(checks);
    expect(verdict(report).word).toBe(`CONFORMANT: ${profile}, 2026-11-25`);
  });

  const named = (profile: string, capabilities: readonly Capability[], checks = held, fast = false) =>
    makePlan(suite<object>('device', [checks]), { capabilities: new Set(capabilities), profile, fast });

  it('must be decided when it is named, even if the target declares less', async () => {
    const report = await run(held, { plan: named('full', ['drive']) });
    expect(report).toMatchObject({ exit_code: 2, complete: false, profile_coverage: { checks: 3, decided: 2 } });
    expect(words(report)).toMatch(
      /^INCOMPLETE: the profile full is not decided: .*need.*; for less, add --profile observed or driven$/,
    );
  });

  const unseen = declared('test.unseen', {}, async (t) => t.undecided('the key may not write'));

  it.each<[string, number, RegExp, Check<object>[]?]>([
    ['full', 2, /^INCOMPLETE: --profile full: 1 needs /],
    ['driven', 0, /^NO FAILURE FOUND: every MUST holds among what ran \(left out: --fast\)$/],
    ['driven', 2, /^INCOMPLETE: --profile driven: 1 saw too little \(the key may not write\)$/, [unseen]],
  ])('when it is %s, a driven target ends --fast with exit code %i: %s', async (profile, code, told, more = []) => {
    const checks = [...held, declared('test.slow', { slow: true }), ...more];
    const report = await run(checks, { plan: named(profile, ['drive'], checks, true) });
    expect(report).toMatchObject({ exit_code: code, complete: false, narrowed_by: ['--fast'] });
    expect(words(report)).toMatch(told);
  });

  it('leaves out checks beyond it when it is named', async () => {
    const report = await run(held, { plan: named('observed', ALL) });
    expect(report.checks.map(({ id }) => id)).toEqual(['test.seen', 'test.polite']);
    expect(report).toMatchObject({ narrowed_by: [], exit_code: 0 });
  });

  it('is decided when a requirement is not applicable or decided by another check', async () => {
    const free = declared('test.free', {}, async (t) => t.notApplicable('it need not'));
    const { requirement: same } = declared('test.both');
    const both: Check<object>[] = [
      { id: same.id, requirement: same, run: async (t) => t.undecided('the log is empty') },
      { id: `${same.id}.driven`, requirement: same, run: async () => {} },
    ];
    expect(await run([free, ...both])).toMatchObject({ exit_code: 0, summary: { undecided: 1 }, complete: true });
    expect(await run(both.slice(0, 1))).toMatchObject({ exit_code: 2 });
  });
});

const looks = (times: number): Check<object> =>
  declared('test.looks', { least: { stars: 3 }, orElse: 'a darker night shows more' }, async (t) => {
    t.saw('stars', times);
  });

it('the sightings of a check are in the report of a pass', async () => {
  const report = await run([looks(3)]);
  expect(report.checks[0]).toMatchObject({ outcome: 'pass', saw: { stars: 3 } });
  const plain = { paint: (_: unknown, text: string) => text, columns: 100, verbose: true };
  const texts = [prettyText(report, plain), htmlFormat.document(report), junitFormat.document(report)];
  for (const text of texts) expect(text).toMatch(/3 stars/);
});

it('the sightings of a check leave the check undecided below their minimum', async () => {
  const report = await run([looks(2)]);
  expect(report.checks[0]).toMatchObject({
    outcome: 'undecided',
    reason: '2 of at least 3 stars; a darker night shows more',
    saw: { stars: 2 },
  });
  expect(words(report)).toMatch(/^INCOMPLETE: .*1 saw too little \(2 of at least 3 stars/);
});

it('the sightings of a check leave a replay undecided, unless it repeats a counterexample', async () => {
  const checks = [looks(2), declared('test.other')];
  const plan = makePlan(suite<object>('device', [checks]), { capabilities: new Set(), only: ['test.*'] });
  const replayOf = { file: 'run.json', outcomes: { 'test.looks': 'fail' } } as const;
  const again = (path: object) => run(checks, { plan, replayOf, replays: [{ check: 'test.looks', ...path }] });
  expect(await again({})).toMatchObject({ exit_code: 2, unmet: ['not decided in the replay: test.looks'] });
  expect(await again({ path: '0/1' })).toMatchObject({ exit_code: 0, summary: { pass: 2 } });
});

it('the sightings of a check exclude an attempt that was cut off', async () => {
  let attempts = 0;
  const report = await run([
    declared('test.looks', { least: { stars: 3 } }, async (t) => {
      attempts += 1;
      t.saw('stars', 2);
      if (attempts === 1) throw new AttemptCutOff('the target ended');
    }),
  ]);
  expect(report.checks[0]).toMatchObject({ outcome: 'undecided', saw: { stars: 2 } });
});

describe('a SHOULD', () => {
  const wrong: Check<object>['run'] = async (t) => t.must(false, { expected: 'a', actual: 'b' });
  const impolite = declared('test.polite', {}, wrong, 'SHOULD');
  const told = (report: Report): string => annotations(report).join('') + junitFormat.document(report);

  it('that does not hold fails no run by default', async () => {
    const report = await run([one(async () => {}), impolite]);
    expect(report).toMatchObject({ exit_code: 0, summary: { warn: 1, fail: 0 } });
    expect(told(report)).not.toContain('<failure');
  });

  const failOn = (checks: Check<object>[], ...patterns: string[]): Promise<Report> =>
    run(checks, { plan: makePlan(suite<object>('device', [checks]), { capabilities: new Set(), failOn: patterns }) });

  it.each([['*'], ['test.polite'], ['6']])('fails the run when --fail-on names it by %s', async (pattern) => {
    const report = await failOn([one(async () => {}), impolite], pattern);
    expect(report).toMatchObject({ exit_code: 1, summary: { warn: 1, fail: 0 } });
    expect(words(report)).toMatch(/^NOT CONFORMANT: a SHOULD does not hold, which fails by --fail-on should/);
    expect(told(report)).toContain('::error title=test.polite');
    expect(told(report)).toContain('<failure message="--fail-on should');
  });

  it('fails no run when --fail-on names other requirements', async () => {
    const other = declared('other.polite', { section: '4.1' });
    expect((await failOn([other, impolite], '4.1', 'other.polite')).exit_code).toBe(0);
  });

  it.each([
    ['test.polit', '--fail-on should=test.polit: no check of the device suite has that id; did you mean test.polite?'],
    ['9', '--fail-on should=9: the device suite has the sections 6.2'],
  ])('cannot be named by an unknown pattern such as %s', async (pattern, message) => {
    await expect(async () => failOn([impolite], pattern)).rejects.toThrow(message);
  });

  const planBy = (options: Partial<PlanOptions>): Plan<object> =>
    makePlan(suite<object>('device', [[impolite]]), { capabilities: new Set(), ...options });

  it.each([
    [['*'], 'fail_on of the target file'],
    [['platform.ping', '9', '6.2', 'client.*'], 'fail_on of the target file: 6.2'],
    [['test.polite'], 'fail_on of the target file: test.polite'],
  ])('fails the run when fail_on of the target file names it by %j', (filedFailOn, words) => {
    expect(planBy({ filedFailOn }).checks).toMatchObject([{ failsBy: words }]);
    expect(planBy({ filedFailOn, failOn: ['*'] }).checks).toMatchObject([{ failsBy: '--fail-on should' }]);
  });

  it.each([
    ['test.polit', 'fail_on of the target file: test.polit: no check of the device suite has that id; did you mean'],
    ['6.9', 'fail_on of the target file: 6.9: the device suite has the sections 6.2'],
  ])('cannot be named in a target file by an unknown pattern such as %s', (pattern, message) => {
    expect(() => planBy({ filedFailOn: [pattern] })).toThrow(message);
    expect(planBy({ filedFailOn: [pattern], failOn: ['6'] }).checks).toMatchObject([{ failsBy: '--fail-on should=6' }]);
  });

  it('that is protective fails only a run of the full profile', async () => {
    const secret = requirement({ ...impolite.requirement, id: 'test.secret', protective: true });
    const checks = [one(async () => {}), { id: secret.id, requirement: secret, run: wrong }];
    expect(await run(checks, { capabilities: ['drive'] })).toMatchObject({ profile: 'driven', exit_code: 0 });
    const full = await run(checks, { capabilities: ALL });
    expect(words(full)).toBe('NOT CONFORMANT: a SHOULD does not hold, which fails by profile full');
    expect(full).toMatchObject({ exit_code: 1, summary: { warn: 1, fail: 0 } });
  });
});
