/** What a run holds its target to: a named profile, what each check must have seen, and the SHOULDs that can fail it. */
import { describe, expect, it } from 'vitest';
import { annotations } from '../reports/github.ts';
import { junitFormat } from '../reports/junit.ts';
import { verdict } from '../reports/verdict.ts';
import { requirement, suite } from './define.ts';
import { makePlan } from './plan.ts';
import { declared, one, run } from './testing/checks.ts';
import type { Capability, Check, Report } from './types.ts';

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
  ] as const)('with %j is %s, the largest within reach', async (capabilities, profile, checks) => {
    const report = await run(held, { capabilities: [...capabilities] });
    expect(report).toMatchObject({ profile, exit_code: 0, complete: true });
    expect(ids(report)).toEqual(checks);
    expect(verdict(report).word).toBe(`CONFORMANT: ${profile}, 2026-11-25`);
  });

  const named = (profile: string, capabilities: Capability[]) =>
    makePlan(suite<object>('device', [held]), { capabilities: new Set(capabilities), profile });

  it('that is named has to be decided, whatever the target declares', async () => {
    const report = await run(held, { plan: named('full', ['drive']) });
    expect(report).toMatchObject({ exit_code: 2, complete: false, profile_coverage: { checks: 3, decided: 2 } });
    expect(words(report)).toMatch(
      /^INCOMPLETE: the profile full is not decided: .*need.*; for less, add --profile observed or driven$/,
    );
  });

  it('that is named leaves out what it does not ask for', async () => {
    const report = await run(held, { plan: named('observed', ALL) });
    expect(report.checks.map(({ id }) => id)).toEqual(['test.seen', 'test.polite']);
    expect(report).toMatchObject({ narrowed_by: [], exit_code: 0 });
  });

  it('is never claimed by a run that was narrowed', async () => {
    const plan = makePlan(suite<object>('device', [held]), { capabilities: new Set(ALL), only: ['test.seen'] });
    expect(words(await run(held, { plan }))).toMatch(/^NO FAILURE FOUND: every MUST holds among what ran/);
  });

  it('is decided where the specification leaves the target free, and where another check of it saw enough', async () => {
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

describe('what a check has seen', () => {
  const looks = (times: number): Check<object> =>
    declared('test.looks', { least: { stars: 3 }, orElse: 'a darker night shows more' }, async (t) => {
      t.saw('stars', times);
    });

  it('is in the report of a pass', async () => {
    expect((await run([looks(3)])).checks[0]).toMatchObject({ outcome: 'pass', saw: { stars: 3 } });
  });

  it('decides nothing below the least', async () => {
    const report = await run([looks(2)]);
    expect(report.checks[0]).toMatchObject({
      outcome: 'undecided',
      reason: '2 of at least 3 stars; a darker night shows more',
      saw: { stars: 2 },
    });
    expect(words(report)).toMatch(/^INCOMPLETE: .*1 saw too little \(2 of at least 3 stars/);
  });
});

describe('a SHOULD', () => {
  const wrong: Check<object>['run'] = async (t) => t.must(false, { expected: 'a', actual: 'b' });
  const impolite = declared('test.polite', {}, wrong, 'SHOULD');
  const told = (report: Report): string => annotations(report).join('') + junitFormat.document(report);

  it('fails no run by itself', async () => {
    const report = await run([one(async () => {}), impolite]);
    expect(report).toMatchObject({ exit_code: 0, summary: { warn: 1, fail: 0 } });
    expect(told(report)).not.toContain('<failure');
  });

  it.each([['*'], ['test.polite'], ['6']])('fails the run that --fail-on names it for, by %s', async (pattern) => {
    const report = await run([one(async () => {}), impolite], { failOn: [pattern] });
    expect(report).toMatchObject({ exit_code: 1, summary: { warn: 1, fail: 0 } });
    expect(words(report)).toMatch(/^NOT CONFORMANT: a SHOULD does not hold, which fails by --fail-on should/);
    expect(told(report)).toContain('::error title=test.polite');
    expect(told(report)).toContain('<failure message="--fail-on should');
  });

  it('of another section fails nothing', async () => {
    expect((await run([one(async () => {}), impolite], { failOn: ['4.1', 'test.other'] })).exit_code).toBe(0);
  });

  it('that protects others belongs to the profile full alone', async () => {
    const secret = requirement({ ...impolite.requirement, id: 'test.secret', protective: true });
    const checks = [one(async () => {}), { id: secret.id, requirement: secret, run: wrong }];
    expect(await run(checks, { capabilities: ['drive'] })).toMatchObject({ profile: 'driven', exit_code: 0 });
    const full = await run(checks, { capabilities: ALL });
    expect(words(full)).toBe('NOT CONFORMANT: a SHOULD does not hold, which fails by profile full');
    expect(full).toMatchObject({ exit_code: 1, summary: { warn: 1, fail: 0 } });
  });
});
