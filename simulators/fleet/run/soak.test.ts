import { expect, it } from 'vitest';
import { durationMs } from '../../../harness/common/units.ts';
import { eventually } from '../../common/testing/scratch.ts';
import { useFolder } from '../testing/scratch.ts';
import { Soak, thresholdsText } from './soak.ts';
import { runOptionsIn } from './testing/fleets.ts';

const folder = useFolder();

it('a soak shortens a hold to the time that is left', () => {
  const scenario = 'uplink: none\nphases: [{ do: ramp, over: 0s }, { do: hold, for: 1h }]\n';
  const soak = new Soak({ ...runOptionsIn(folder(), scenario), soak: { forMs: 5000, everyMs: 1000 } });
  const [ramp, hold] = soak
    .turns()
    .take(2)
    .map(({ phase }) => phase);
  expect(ramp).toMatchObject({ do: 'ramp', over: '0s' });
  expect(durationMs(hold?.do === 'hold' ? hold.for : '')).toBeLessThanOrEqual(5000);
});

it('a soak counts a pass only if its hold was whole', async () => {
  const scenario = 'uplink: none\nphases: [{ do: ramp, over: 0s }, { do: hold, for: 1h }]\n';
  const soak = new Soak({ ...runOptionsIn(folder(), scenario), soak: { forMs: 50, everyMs: 1000 } });
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
