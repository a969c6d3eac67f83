import fc from 'fast-check';
import { expect, it } from 'vitest';
import { histogram, Metrics, summariesOf, summary } from '../measure/metrics.ts';
import { mergeResults, type Part } from './merge.ts';
import { exitCode, outcomeOf } from './result.ts';
import { costPartWith, judgedWith, resultWith, tickWith } from './testing/result.ts';

const shard = (index: number, count: number, samples: number[], more: Parameters<typeof resultWith>[0] = {}): Part => {
  const metrics = new Metrics();
  for (const ms of samples) metrics.time('rollout.ms', ms);
  metrics.count('rollout.attempts', samples.length);
  const snapshot = metrics.snapshot();
  return {
    name: `shard-${index}`,
    result: resultWith({ shard: { index, count }, robots: 10, ...snapshot, metrics: summariesOf(snapshot), ...more }),
  };
};

it('merging shards equals the whole run, for any split', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.double({ min: 0, max: 100_000, noNaN: true }), fc.nat(3)), {
        minLength: 1,
        maxLength: 100,
      }),
      (samples) => {
        const of = (index: number) => samples.filter(([, part]) => part === index).map(([ms]) => ms);
        const merged = mergeResults([0, 1, 2, 3].map((index) => shard(index + 1, 4, of(index))));
        const every = samples.map(([ms]) => ms);
        const whole = shard(1, 1, every).result;
        expect(merged.metrics).toEqual(whole.metrics);
        expect(merged.histograms).toEqual(whole.histograms);
        expect(merged.counters).toEqual(whole.counters);
        expect(merged.robots).toBe(40);
        expect(merged.complete).toBe(true);
      },
    ),
    { numRuns: 30 },
  );
});

it('merging shards adds the costs of all processes, and averages the costs of a robot', () => {
  const part = (bytes: number, robot_marginal_bytes: number | null) =>
    costPartWith({ peak_bytes: bytes, end_bytes: bytes / 2, robot_whole_bytes: bytes / 10, robot_marginal_bytes });
  const of = (bytes: number, robots: number, marginal: number | null) => ({
    memory: 'PSS' as const,
    robots,
    parts: { parent: part(bytes, null), whole: part(bytes, marginal) },
  });
  const [one, two] = [shard(1, 2, [1], { costs: of(1000, 10, 5) }), shard(2, 2, [1], { costs: of(4000, 30, 9) })];
  expect(mergeResults([one, two]).costs).toEqual({
    memory: 'PSS',
    robots: 40,
    parts: {
      parent: { ...part(5000, null), processes: 2, cpu_seconds: 3, robot_whole_bytes: 325 },
      whole: { ...part(5000, 8), processes: 2, cpu_seconds: 3, robot_whole_bytes: 325 },
    },
  });
  expect(mergeResults([one, shard(2, 2, [1])])).not.toHaveProperty('costs');
});

it('merging shards evaluates thresholds over all shards, including new ones', () => {
  const good = { thresholds: [{ expr: 'rollout.ms.p99<1s', value: 10, ok: true }] };
  const slow = Array.from({ length: 20 }, () => 5000);
  const merged = mergeResults([shard(1, 2, [10], good), shard(2, 2, slow, good)], {
    thresholds: ['rollout.ms.count==21'],
  });
  expect(merged.thresholds).toEqual([
    { expr: 'rollout.ms.p99<1s', value: expect.closeTo(5000, -2), ok: false },
    { expr: 'rollout.ms.count==21', value: 21, ok: true },
  ]);
  expect(exitCode(merged)).toBe(99);
});

it('merging shards adds judged answers by rule, and a wrong answer of one shard fails all', () => {
  const judged = (count: number, phase: string) => ({ ...judgedWith([{ count, phase }]), cpu_share: 0.01 * count });
  const right = { ...judgedWith([]), dropped: 3 };
  const merged = mergeResults([
    shard(1, 4, [1], { answers: right }),
    shard(2, 4, [1], { answers: judged(2, '1-ramp') }),
    shard(3, 4, [1], { answers: judged(3, '2-hold') }),
    shard(4, 4, [1]),
  ]);
  expect(merged.answers).toMatchObject({ seen: 300, judged: 30, dropped: 3, cpu_share: 0.03 });
  expect(merged.answers?.findings).toMatchObject([{ count: 5, phase: '1-ramp' }]);
  expect(exitCode(merged)).toBe(1);
  expect(mergeResults([shard(1, 1, [1])])).not.toHaveProperty('answers');
});

it('merging shards keeps the reasons of an incomplete shard, and the worst verdict', () => {
  const merged = mergeResults([
    shard(1, 2, [1], { verdict: 'suspect', verdict_reasons: ['late'] }),
    shard(2, 2, [1], { complete: false, incomplete_reasons: ['worker 2 is lost'] }),
  ]);
  expect(merged).toMatchObject({ verdict: 'suspect', verdict_reasons: ['shard-1: late'] });
  expect(merged).toMatchObject({ complete: false, incomplete_reasons: ['shard-2: worker 2 is lost'] });
});

it.each([1, 2])('merging shards is incomplete when only shard %i ended early by its own robots', (early) => {
  const ended = { complete: false, ended_by: 'rollout.missed.count==0', incomplete_reasons: ['ended early: x'] };
  const merged = mergeResults([1, 2].map((index) => shard(index, 2, [1], index === early ? ended : {})));
  expect([exitCode(merged), merged.outcome]).toEqual([2, 'INCOMPLETE']);
});

it.each([
  ['another seed', { seed: 2 }, /seed is 1 and 2/],
  ['another scenario', { scenario: 'other' }, /scenario is test and other/],
  ['another size', { fleet_robots: 7 }, /fleet_robots/],
  ['another run', { run_id: 'tuesday' }, /belong to different runs: run_id is absent and tuesday/],
])('merging shards refuses shards of %s', (_what, change, message) => {
  expect(() => mergeResults([shard(1, 2, [1]), shard(2, 2, [1], change)])).toThrow(message);
});

it('merging shards refuses a repeated shard and a wrong number of shards', () => {
  expect(() => mergeResults([shard(1, 2, [1]), shard(1, 2, [1])])).toThrow(/both shard 1\/2/);
  expect(() => mergeResults([shard(1, 2, [1])], { expect: 3 })).toThrow(/3 shards were expected/);
  expect(() => mergeResults([])).toThrow(/no result/);
});

it('merging shards combines the seconds of the shards', () => {
  const tick = (rate: number, p99: number) => {
    const [rates, load] = [{ http: rate }, { cpu: 0.5, rss_bytes: 100, loop_max_ms: p99 }];
    return tickWith({ robots: { online: 5 }, rates, p99: { 'http.ms': p99 }, ...load });
  };
  const merged = mergeResults([
    shard(1, 2, [1], { series: [tick(3, 10), tick(1, 1)] }),
    shard(2, 2, [1], { series: [tick(4, 20)] }),
  ]);
  expect(merged.series).toMatchObject([
    { robots: { online: 10 }, rates: { http: 7 }, p99: { 'http.ms': 20 }, cpu: 1, rss_bytes: 200, loop_max_ms: 20 },
    { robots: { online: 5 }, rates: { http: 1 } },
  ]);
});

it('the seconds of shards are aligned at their common start', () => {
  const tick = (second: number, online: number) => tickWith({ at_ms: 1000 * second, robots: { online } });
  const early = [tick(1, 0), tick(2, 0), tick(3, 0), tick(4, 5), tick(5, 5)];
  const late = [tick(1, 0), tick(2, 5), tick(3, 5), tick(4, 5)];
  const merged = mergeResults([
    shard(1, 3, [], { series: late, phases_begin_ms: 1400 }),
    shard(2, 3, [], { series: early, phases_begin_ms: 3400 }),
    shard(3, 3, [], { series: [tick(1, 0)] }),
  ]);
  expect(merged.series.map(({ at_ms }) => at_ms)).toEqual([1000, 2000, 3000, 4000, 5000, 6000]);
  expect(merged.series.map(({ robots }) => robots['online'])).toEqual([0, 0, 0, 10, 10, 5]);
});

it('shards of one run are incomplete when they began apart', () => {
  const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
  const together = [shard(2, 2, [], { phases_at: at(9) }), shard(1, 2, [], { phases_at: at(0) })];
  expect(mergeResults(together).incomplete_reasons).toEqual([]);
  const late = [shard(2, 2, [], { phases_at: at(61) }), shard(1, 2, [], { phases_at: at(0) })];
  const why = 'shard 2/2 began 61 s after shard 1/2, so they did not run as one fleet';
  const incomplete = { complete: false, outcome: 'INCOMPLETE', incomplete_reasons: [why] };
  expect(mergeResults(late)).toMatchObject(incomplete);
});

const missed = { thresholds: [{ expr: 'x', value: 1, ok: false }] };
const violations = [{ robot: 1, name: 'r', kind: 'gap' as const, message: 'm' }];

it.each([
  [{}, 0, 'PASSED'],
  [missed, 99, 'FAILED'],
  // A shard passes, because thresholds apply to the whole fleet.
  [{ ...missed, shard: { index: 1, count: 2 } }, 0, 'PASSED'],
  [{ ...missed, verdict: 'invalid' as const }, 98, 'INCOMPLETE'],
  [{ verdict: 'suspect' as const }, 0, 'PASSED'],
  [{ complete: false, verdict: 'invalid' as const }, 2, 'INCOMPLETE'],
  [{ ...missed, complete: false, violations }, 1, 'FAILED'],
  [{ metrics: {}, uplink: 'agent' }, 2, 'INCOMPLETE'],
  [{ metrics: {}, uplink: 'none' }, 0, 'PASSED'],
  [{ metrics: {}, uplink: 'none', counters: {} }, 2, 'INCOMPLETE'],
  [{ metrics: { 'start.ms': summary(histogram()) }, uplink: 'calls' }, 2, 'INCOMPLETE'],
])('%j exits %i: %s', (change, code, outcome) => {
  const result = resultWith({ uplink: 'agent', metrics: { 'ping.ms': summary(histogram()) }, ...change });
  expect([exitCode(result), outcomeOf(result)]).toEqual([code, outcome]);
});
