import { expect, it } from 'vitest';
import type { Device } from '../support/check.ts';
import type { Streams } from '../support/streams.ts';
import { Reality } from './reality.ts';

it.for([
  ['2026-01-02T03:04:05.650Z', true, true],
  ['2026-01-02T03:04:05Z', true, true],
  ['2026-01-02T03:04:06Z', true, true],
  ['2026-01-02T03:04:07Z', false, false],
  ['2026-01-02T05:04:05+02:00', true, true],
  ['2026-01-02T05:04:05', true, false],
] as const)('%s may be a time from 03:04:05.6 to 03:04:05.7 UTC: %s, and surely is: %s', ([written, may, surely]) => {
  const t = { http: { endpoint: { socketPath: '/agent.sock' } } } as unknown as Device;
  const real = new Reality(t, {} as Streams, 0n);
  const period = { since: Date.UTC(2026, 0, 2, 3, 4, 5, 600), until: Date.UTC(2026, 0, 2, 3, 4, 5, 700) };
  expect(real.isWithin('occurred_at', written, period)).toBe(may);
  expect(real.isWithin('occurred_at', written, period, false)).toBe(surely);
});
