import { expect, test } from 'vitest';
import { coverageOf, decidedProfile, unmetDemands } from './coverage.ts';
import { suite } from './define.ts';
import { makePlan } from './plan.ts';
import { declared, one, planOf, run } from './testing/checks.ts';
import type { Capability } from './types.ts';

const all = [
  declared('test.plain'),
  declared('test.driven', { needs: ['drive'] }),
  declared('test.compacted', { needs: ['drive', 'compact'] }),
  declared('test.slow', { slow: true }),
  declared('test.loopback', { needs: ['loopback'] }),
];

test('coverage counts decided and undecided checks, and names the missing option', async () => {
  const plan = makePlan(suite<object>('device', [all]), { capabilities: new Set(), fast: true });
  const { coverage } = await run(all, { plan });
  expect(coverage).toEqual({
    checks: 5,
    decided: 1,
    undecided: [
      { checks: 2, why: 'need drive', needs: ['drive'], add: '--control ADDRESS' },
      { checks: 1, why: 'left out by --fast' },
      { checks: 1, why: 'is about another transport', needs: ['loopback'] },
    ],
  });
});

test('an error of the baseline does not count as a decided check', async () => {
  const { coverage } = await run([one(async () => {})], {
    settle: (results) => results.map((result) => ({ ...result, id: `baseline:${result.id}`, outcome: 'fixed' })),
  });
  expect(coverage.decided).toBe(0);
});

const drive: Capability[] = ['drive'];
const coverage = { checks: 80, decided: 28, undecided: [] };

test.each([
  [{ require: drive }, ['unix'], /^--require drive: the target does not have it; add --control ADDRESS$/],
  [{ require: drive }, ['drive'], undefined],
  [{ minDecided: { count: 29 } }, [], /^--min-decided 29: 28 of 80 checks were decided$/],
  [{ minDecided: { count: 28 } }, [], undefined],
  [{ minDecided: { percent: 35 } }, [], undefined],
  [{ minDecided: { percent: 35.1 } }, [], /^--min-decided 35.1%: /],
] as const)('demand %j is checked against a target with the capabilities %j', (demands, capabilities, unmet) => {
  const found = unmetDemands(demands, coverage, capabilities);
  if (unmet === undefined) expect(found).toEqual([]);
  else expect(found).toEqual([expect.stringMatching(unmet)]);
});

test('a demand of N% is met by N of 100 checks', () => {
  const unmet = (decided: number): string[] =>
    unmetDemands({ minDecided: { percent: decided } }, { checks: 100, decided, undecided: [] }, []);
  expect(Array.from({ length: 101 }, (_, decided) => decided).flatMap(unmet)).toEqual([]);
});

test('a run with an unmet demand is incomplete, unless a MUST fails', async () => {
  const demands = { require: drive };
  const passed = await run([one(async () => {})], { demands });
  expect(passed).toMatchObject({ exit_code: 2, complete: false, unmet: [expect.stringContaining('--require drive')] });
  const failed = await run([one(async (t) => t.must(false, { expected: 'a', actual: 'b' }))], { demands });
  expect(failed.exit_code).toBe(1);
  expect((await run([one(async () => {})])).unmet).toBeUndefined();
});

test('coverage counts checks blocked by a failed check apart from other blocked checks', () => {
  const base = { level: 'MUST', section: '1', requirement: 'x', requirement_id: 'x', duration_ms: 0 } as const;
  const results = [
    { ...base, id: 'a', outcome: 'fail' },
    { ...base, id: 'b', outcome: 'blocked', blocked_by: 'a' },
    { ...base, id: 'c', outcome: 'blocked', reason: 'control refused' },
  ] as const;
  expect(coverageOf(planOf(results), results, [])).toEqual({
    checks: 3,
    decided: 1,
    undecided: [
      { checks: 1, why: 'rests on a check that failed' },
      { checks: 1, why: 'blocked' },
    ],
  });
});

test.each([
  [{ plain: 'pass', driven: 'warn', compacted: 'undecided' }, 'driven'],
  [{ plain: 'fail', driven: 'undecided', compacted: 'pass' }, 'observed'],
  [{ plain: 'undecided', driven: 'pass', compacted: 'undecided' }, undefined],
] as const)('a run that decided %j covers %s as the largest smaller profile', async (outcomes, name) => {
  const checks = all.slice(0, 3);
  const report = await run(checks);
  const results = report.checks.map((each) => {
    return { ...each, outcome: outcomes[each.id.replace('test.', '') as keyof typeof outcomes] };
  });
  expect(decidedProfile({ checks }, { ...report, profile: 'full', checks: results })).toBe(name);
});
