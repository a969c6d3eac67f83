import { expect, it } from 'vitest';
import { durationMs } from '../../../harness/common/units.ts';
import { eventually, useFolder } from '../../common/testing/scratch.ts';
import { Soak, thresholdsText } from './soak.ts';
import { runOptionsIn } from './testing/fleets.ts';

const folder = useFolder();

const SCENARIO = 'uplink: none\nphases: [{ do: ramp, over: 0s }, { do: hold, for: 1h }]\n';
const soakFor = (forMs: number) => new Soak({ ...runOptionsIn(folder(), SCENARIO), soak: { forMs, everyMs: 1000 } });

it('a soak shortens a hold to the time that is left', () => {
  const soak = soakFor(5000);
  const [ramp, hold] = soak
    .turns()
    .take(2)
    .map(({ phase }) => phase);
  expect(ramp).toMatchObject({ do: 'ramp', over: '0s' });
  expect(durationMs(hold?.do === 'hold' ? hold.for : '')).toBeLessThanOrEqual(5000);
});

it('a soak counts a pass only if its hold was whole', async () => {
  const soak = soakFor(50);
  for (const { phase } of soak.turns()) if (phase.do === 'hold') await eventually(() => expect(soak.leftMs).toBe(0));
  expect(soak.told).toMatchObject({ for_ms: 50, rounds: 0 });
});

it('the standing of thresholds has units, and separates missed from unmeasured ones', () => {
  const slow = { expr: 'ping.ms.p99<1s', value: 1234.567, ok: false };
  const failing = { expr: 'http.errors.rate<1%', value: 0.0512, ok: false };
  const open = { expr: 'rollout.ms.p99<5s', value: null, ok: false };
  expect(thresholdsText([])).toBe('all thresholds met');
  expect(thresholdsText([{ ...slow, ok: true }])).toBe('all thresholds met');
  expect(thresholdsText([slow, failing])).toBe('missed: ping.ms.p99<1s is 1.23 s, http.errors.rate<1% is 5.12 %');
  expect(thresholdsText([open, slow])).toBe('missed: ping.ms.p99<1s is 1.23 s · not measured yet: rollout.ms.p99<5s');
});
