import { expect, it } from 'vitest';
import { standingText } from './soak.ts';

it('the standing of thresholds has units, and separates missed from unmeasured ones', () => {
  const slow = { expr: 'ping.ms.p99<1s', value: 1234.567, ok: false };
  const failing = { expr: 'http.errors.rate<1%', value: 0.0512, ok: false };
  const open = { expr: 'rollout.ms.p99<5s', value: null, ok: false };
  expect(standingText([])).toBe('all thresholds met');
  expect(standingText([{ ...slow, ok: true }])).toBe('all thresholds met');
  expect(standingText([slow, failing])).toBe('missed: ping.ms.p99<1s is 1.23 s, http.errors.rate<1% is 5.12 %');
  expect(standingText([open, slow])).toBe('missed: ping.ms.p99<1s is 1.23 s · not measured yet: rollout.ms.p99<5s');
});
