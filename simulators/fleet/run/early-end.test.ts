import { expect, test } from 'vitest';
import { histogram, recordMs, summary } from '../measure/metrics.ts';
import { EarlyEnd, judgedAlone } from './early-end.ts';
import type { RunOptions } from './fleet.ts';

const { signal } = new AbortController();
const ending = (scenario: object, abortOn: readonly string[] = []): EarlyEnd =>
  new EarlyEnd({ scenario: scenario as RunOptions['scenario'], abortOn, signal });

interface Second {
  errors?: number;
  attempts?: number;
  pingsMs?: number[];
}

function ended(end: EarlyEnd, seconds: readonly Second[]): { after: number; why: string } | undefined {
  const incomplete: string[] = [];
  const counters: Record<string, number> = {};
  const pings = histogram(2);
  let elapsedMs = 0;
  const look = () => {
    const metrics = pings.totalCount === 0 ? {} : { 'ping.ms': summary(pings) };
    const phases = [{ label: '1-hold', seconds: elapsedMs / 1000 }];
    const standing = { metrics, counters, times: () => pings, measuredSeconds: elapsedMs / 1000, phases };
    end.look({ standing, elapsedMs, incomplete, endedBy: undefined });
    expect(end.signal.aborted).toBe(incomplete.length > 0);
  };
  look();
  for (const [number, { errors = 0, attempts = 100, pingsMs = [] }] of seconds.entries()) {
    elapsedMs += 1000;
    counters['http.errors'] = (counters['http.errors'] ?? 0) + errors;
    counters['http.attempts'] = (counters['http.attempts'] ?? 0) + attempts;
    for (const ping of pingsMs) recordMs(pings, ping);
    look();
    if (incomplete.length > 0) return { after: number + 1, why: incomplete.join() };
  }
  return undefined;
}

const times = (count: number, second: Second): Second[] => Array.from({ length: count }, () => second);

test.each([0, 100, 3600])('a run ends soon when a condition holds after %i good seconds', (good) => {
  const end = ending({ abort_on: ['http.errors.rate>50%'], abort_after: '30s' });
  const found = ended(end, [...times(good, {}), ...times(60, { errors: 100 })]);
  expect((found?.after ?? 0) - good).toBeGreaterThanOrEqual(20);
  expect((found?.after ?? 0) - good).toBeLessThanOrEqual(30);
  expect(found?.why).toMatch(/^ended early: http\.errors\.rate>50% held in the last 30 s: it was [\d.]+ %$/);
});

test('a run continues after a burst, a first sample or errors long before', () => {
  const end = () => ending({ abort_on: ['http.errors.rate>50%'], abort_after: '4s' });
  const burst = [...times(8, {}), { errors: 900, attempts: 1000 }, ...times(8, {})];
  expect(ended(end(), burst)).toBeUndefined();
  const idle = times(9, { attempts: 0 });
  expect(ended(end(), [...idle, { errors: 1, attempts: 1 }, ...idle])).toBeUndefined();
  expect(ended(end(), [...times(3, { errors: 100 }), ...times(90, {})])).toBeUndefined();
});

test('a condition uses counts, percentiles and rates of the last seconds', () => {
  const count = ending({ abort_after: '4s' }, ['http.errors.count>=5']);
  expect(ended(count, [...times(20, { errors: 1 }), { errors: 2 }])).toEqual({
    after: 21,
    why: 'ended early: http.errors.count>=5 held in the last 4 s: it was 5',
  });
  const slow = [...times(90, { pingsMs: [1, 1, 1] }), ...times(9, { pingsMs: [70] })];
  const { after = 0, why } = ended(ending({ abort_after: '4s' }, ['ping.ms.p90>50ms']), slow) ?? {};
  expect(after).toBeGreaterThan(92);
  expect(after).toBeLessThanOrEqual(94);
  expect(why).toMatch(/ it was 7\d(\.\d)? ms$/);
  const rate = ending({ abort_after: '4s' }, ['http.errors.rate>9/s']);
  expect(ended(rate, [...times(90, {}), ...times(9, { errors: 10 })])?.why).toMatch(/ it was 10\/s$/);
});

test('an unmeasured condition never holds, and the default window is 30 s', () => {
  const conditions = ['rollout.ms.p99>1s', 'http.errors.count>=1'];
  expect(ended(ending({}, conditions), times(40, { errors: 1 }))?.after).toBe(30);
  expect(ended(ending({}), times(90, { errors: 100 }))).toBeUndefined();
});

test('a window of hours stays small, and still ends a run', () => {
  const end = ending({ abort_on: ['http.errors.rate>50%'], abort_after: '1h' });
  const found = ended(end, [...times(9000, {}), ...times(4000, { errors: 100 })]);
  expect((found?.after ?? 0) - 9000).toBeGreaterThan(2000);
  expect((found?.after ?? 0) - 9000).toBeLessThanOrEqual(3600);
});

test.each([
  [{ phases: [{ gate: ['start.ms.count==2'] }] }, [], /^shard 1\/2 judges gates by its own robots alone: /],
  [{ phases: [{}], abort_on: ['a.count>1'] }, [], / judges abort_on by/],
  [{ phases: [{ gate: ['a.count>1'] }] }, ['a.count>1'], / judges gates and abort_on by/],
  [{ phases: [{ gate: [] }] }, [], /^undefined$/],
])('a shard announces that it judges alone: %j and %j', (scenario, abortOn, said) => {
  const options = { scenario, abortOn, shard: { index: 1, count: 2 } } as unknown as RunOptions;
  expect(String(judgedAlone(options))).toMatch(said);
  expect(judgedAlone({ ...options, shard: undefined } as unknown as RunOptions)).toBeUndefined();
});
