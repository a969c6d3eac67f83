import { describe, expect, it } from 'vitest';
import { Metrics, summariesOf } from '../measure/metrics.ts';
import { checkThreshold, evaluate, measuredIn, parseThreshold } from './thresholds.ts';

const durations = new Metrics();
for (let ms = 1; ms <= 1000; ms += 1) durations.time('rollout.ms', ms);
durations.time('reconnect.ms', 5 * 3_600_000);
const empty = { count: 0, p50: 0, p90: 0, p95: 0, p99: 0, p999: 0, max: 0, unit: 'ms' } as const;
const measured = measuredIn({
  metrics: { ...summariesOf(durations.snapshot()), 'empty.ms': empty },
  histograms: durations.snapshot().histograms,
  counters: { 'http.errors': 3, 'http.attempts': 200 },
  measured_seconds: 20,
  phases: [],
});
const check = (expr: string) => evaluate(parseThreshold(expr), measured);

it.each([
  ['rollout.ms.p99<5s', 990, true],
  ['rollout.ms.p99<900ms', 990, false],
  ['rollout.ms.p12.5<1s', 125, true],
  ['rollout.ms.p99.9<1s', 999, true],
  ['rollout.ms.p999<1s', 999, true],
  ['rollout.ms.max<=5s', 1000, true],
  ['rollout.ms.p50 > 1s', 500, false],
  ['reconnect.ms.max<3h', 5 * 3_600_000, false],
  ['rollout.ms.count>=1000', 1000, true],
  ['rollout.ms.count==99', 1000, false],
  ['http.errors.rate<1%', 0.015, false],
  ['http.errors.count==3', 3, true],
  ['http.attempts.rate>=10/s', 10, true],
  ['rollout.ms.rate>4/s', 50, true],
])('thresholds %s', (expr, value, ok) => {
  const result = check(expr);
  expect(result.ok).toBe(ok);
  // Compares roughly, because a histogram keeps three digits.
  expect((result.value ?? 0) / value).toBeCloseTo(1, 2);
});

it.each([
  ['empty.ms.p99<5s', 'no sample'],
  ['typo.ms.p99<5s', 'these were: empty.ms'],
  ['http.errors.p99<5s', 'is a counter'],
  ['rollout.ms.rate<1%', 'rollout.attempts'],
])('thresholds %s is missed when nothing was measured', (expr, reason) => {
  expect(check(expr)).toMatchObject({ value: null, ok: false, reason: expect.stringContaining(reason) });
});

it.each([
  ['rollout.ms.p99', /must read/],
  ['rollout.ms.p100<5s', /not a statistic; accepted: count, max, rate, and any percentile, e\.g\. p50, p95, p99\.9/],
  ['rollout.ms.p0<5s', /not a statistic/],
  ['rollout.ms.avg<5s', /'avg' is not a statistic/],
  ['rollout.ms.p99<5', /a number and a unit, .*ns, us, ms, s, m/],
  ['rollout.ms.p99<5days', /'5days' is no duration/],
  ['rollout.ms.count<5s', /a count has no unit/],
  ['http.errors.rate<5', /percentage of attempts/],
  ['rolout.ms.p99<5s', /there is no metric 'rolout\.ms'; did you mean rollout\.ms\?\n.*ping\.ms.*\n.*ping\.errors/],
  ['http.errors.p99<5s', /'http\.errors' is a counter: only count and rate/],
  ['sse.events.rate<1%', /attempts of 'sse\.events' are not counted/],
  ['rollout.ms.p99<-5s', /never below 0, but '-5s' is/],
])('thresholds refuses %s', (expr, message) => {
  expect(() => checkThreshold(expr)).toThrow(message);
});

it('thresholds are missed by a run without measurements, with a short message', () => {
  const nothing = { metrics: {}, counters: {}, times: () => undefined, measuredSeconds: 0, phases: [] };
  expect(evaluate(checkThreshold('ping.ms.p99<1s'), nothing).reason).toBe('nothing was measured');
});

describe('a threshold of a part', () => {
  const metrics = new Metrics();
  const record = (phase: string, name: string, ms: number, attempts: number): void => {
    metrics.beginPhase(phase, true);
    const recorder = metrics.of(name);
    for (let at = 0; at < 100; at += 1) recorder.time('ping.ms', ms);
    recorder.count('ping.attempts', attempts);
    recorder.count('ping.errors', 1);
  };
  record('2-hold', 'arm', 10, 100);
  record('3-storm', 'arm', 100, 50);
  record('3-storm', 'cart', 200, 10);
  record('5-hold', 'cart', 20, 10);
  const snapshot = metrics.snapshot();
  const phases = ['ramp', 'hold', 'storm', 'stop', 'hold'].map((kind) => {
    return { do: kind, started_ms: 0, duration_ms: 2000, measured: kind !== 'stop', actions: 0 };
  });
  const parts = measuredIn({ ...snapshot, metrics: summariesOf(snapshot), measured_seconds: 8, phases });

  it.each([
    ['ping.ms.max<1s', 200],
    ['ping.ms{class=arm}.max<1s', 100],
    ['ping.ms{class=arm, phase=hold}.p99<1s', 10],
    ['ping.ms{phase=hold}.p99<1s', 20],
    ['ping.ms{phase=3}.p50<1s', 100],
    ['ping.ms{phase=3-storm,class=cart}.p50<1s', 200],
    ['ping.ms{class=cart}.count>1', 200],
    ['ping.errors{class=cart}.rate<50%', 2 / 20],
    ['ping.errors{phase=hold}.rate<5/s', 2 / 4],
  ])('%s', (expr, value) => {
    expect((evaluate(parseThreshold(expr), parts).value ?? 0) / value).toBeCloseTo(1, 1);
  });

  it('has a reason when its part was not measured', () => {
    const { reason } = evaluate(parseThreshold('ping.ms{class=arm,phase=5}.p99<1s'), parts);
    expect(reason).toBe("'ping.ms' was not measured in that part of the run");
  });

  it.each([
    ['ping.ms{robot=1}.p99<1s', /'robot=1' names no part; accepted: class=NAME, phase=KIND, phase=NUMBER/],
    ['ping.ms{class=a,class=b}.p99<1s', /'class' is there twice/],
    ['ping.ms{class=boat}.p99<1s', /there is no class 'boat'; accepted: arm, cart/],
    ['ping.ms{phase=kill}.p99<1s', /there is no phase 'kill'; accepted: 1-ramp, 2-hold, or the number or the kind/],
    ['rollout.ms.p99<5s', /'rollout\.ms' needs a phase with 'rollout'; the phases have ramp, hold, ping$/],
    ['deploy.ms{class=arm}.p99<1s', /'deploy\.ms' needs a phase with 'rollout'/],
    ['read.errors.count==0', /'read\.errors' needs a phase with 'reads'/],
    ['storm.errors.count==0', /'storm\.errors' needs a phase with 'storm'/],
  ])('refuses %s', (expr, why) => {
    const phases = [{ do: 'ramp' }, { do: 'hold', ping: '1/s' }];
    const parts = { classes: ['arm', 'cart'], phases };
    expect(() => checkThreshold(expr, parts)).toThrow(why);
    expect(checkThreshold('ping.ms{class=arm}.p99<1s', parts).metric).toBe('ping.ms');
  });
});
