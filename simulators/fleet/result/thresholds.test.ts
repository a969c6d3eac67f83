import { describe, expect, it } from 'vitest';
import { checkThreshold, evaluate, type Measured, parseThreshold } from './thresholds.ts';

const measured: Measured = {
  metrics: {
    'rollout.ms': { count: 100, p50: 800, p90: 1500, p99: 4000, p999: 4900, max: 5000, unit: 'ms' },
    'empty.ms': { count: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0, unit: 'ms' },
  },
  counters: { 'http.errors': 3, 'http.attempts': 200 },
  measuredSeconds: 20,
};
const check = (expr: string) => evaluate(parseThreshold(expr), measured);

describe('thresholds', () => {
  it.each([
    ['rollout.ms.p99<5s', 4000, true],
    ['rollout.ms.p99<3999ms', 4000, false],
    ['rollout.ms.max<=5s', 5000, true],
    ['rollout.ms.p50 > 1s', 800, false],
    ['rollout.ms.count>=100', 100, true],
    ['rollout.ms.count==99', 100, false],
    ['http.errors.rate<1%', 0.015, false],
    ['http.errors.rate<2%', 0.015, true],
    ['http.errors.count==3', 3, true],
    ['http.attempts.rate>=10/s', 10, true],
    ['rollout.ms.rate>4/s', 5, true],
  ])('%s', (expr, value, ok) => {
    expect(check(expr)).toMatchObject({ value, ok });
  });

  it('are missed when nothing was measured', () => {
    expect(check('empty.ms.p99<5s')).toMatchObject({
      value: null,
      ok: false,
      reason: expect.stringContaining('no sample'),
    });
    expect(check('typo.ms.p99<5s')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('these were: empty.ms'),
    });
    expect(check('http.errors.p99<5s')).toMatchObject({ ok: false, reason: expect.stringContaining('is a counter') });
    expect(check('rollout.ms.rate<1%')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('rollout.attempts'),
    });
  });

  it.each([
    ['rollout.ms.p99', /must read/],
    ['rollout.ms.p98<5s', /not a statistic; accepted: count, p50/],
    ['rollout.ms.p99<5', /a number and a unit, .*ns, us, ms, s, m/],
    ['rollout.ms.p99<5days', /'5days' is no duration/],
    ['rollout.ms.count<5s', /a count has no unit/],
    ['http.errors.rate<5', /percentage of attempts/],
    ['p99<5s', /must read/],
  ])('refuses %s', (expr, message) => {
    expect(() => parseThreshold(expr)).toThrow(message);
  });

  it('accept every unit of time', () => {
    const bounds = ['1ns', '1us', '1ms', '1s', '1m'].map((time) => parseThreshold(`a.ms.p99<${time}`).bound);
    expect(bounds).toEqual([1e-6, 1e-3, 1, 1000, 60_000]);
  });
});

describe('a threshold that a person wrote', () => {
  it.each(['rollout.ms.p99<5s', 'http.errors.rate<1%', 'http.status.503.count==0', 'sse.events.rate>1/s'])(
    'may be %s',
    (expr) => {
      expect(checkThreshold(expr).expr).toBe(expr);
    },
  );

  it.each([
    ['rolout.ms.p99<5s', /there is no metric 'rolout\.ms'; did you mean rollout\.ms\?\n.*ping\.ms.*\n.*ping\.errors/],
    ['http.errors.p99<5s', /'http\.errors' is a counter: only count and rate/],
    ['sse.events.rate<1%', /attempts of 'sse\.events' are not counted/],
    ['rollout.ms.p99<-5s', /never below 0, but '-5s' is/],
  ])('cannot be %s', (expr, why) => {
    expect(() => checkThreshold(expr)).toThrow(why);
  });

  it('is missed by a run that measured nothing, with a short message', () => {
    const nothing = { metrics: {}, counters: {}, measuredSeconds: 0 };
    expect(evaluate(checkThreshold('ping.ms.p99<1s'), nothing).reason).toBe('nothing was measured');
  });
});
