import { expect, it } from 'vitest';
import type { Device } from '../support/check.ts';
import type { Streams } from '../support/streams.ts';
import { Reality } from './reality.ts';

it.for([
  ['2026-01-02T03:04:05Z', true, true],
  ['2026-01-02T03:04:06Z', true, true],
  ['2026-01-02T03:04:07Z', false, false],
  ['2026-01-02T05:04:05+02:00', true, true],
  ['2026-01-02T05:04:05', true, false],
  ['2026-01-02T03:04Z', true, false],
] as const)('%s may be a time from 03:04:05.6 to 03:04:05.7 UTC: %s, and surely is: %s', ([written, may, surely]) => {
  const started = { transport: { kind: 'unix' }, standardError: () => '' } as unknown as Device;
  const real = new Reality(started, {} as Streams, 0n);
  const period = { since: Date.UTC(2026, 0, 2, 3, 4, 5, 600), until: Date.UTC(2026, 0, 2, 3, 4, 5, 700) };
  expect(real.isWithin('occurred_at', written, period)).toBe(may);
  expect(real.isWithin('occurred_at', written, period, false)).toBe(surely);
});

it.for([
  ['2026-01-02T03:04:03.000Z', true, false],
  ['2026-01-02T03:04:08.000Z', true, false],
  ['2026-01-02T03:04:11.000Z', false, false],
] as const)(
  '%s of an agent started by others may be 03:04:05.6 UTC: %s, and surely is: %s',
  ([written, may, surely]) => {
    const real = new Reality({ transport: { kind: 'unix' } } as Device, {} as Streams, 0n);
    const at = Date.UTC(2026, 0, 2, 3, 4, 5, 600);
    expect(real.isWithin('occurred_at', written, { since: at, until: at })).toBe(may);
    expect(real.isWithin('occurred_at', written, { since: at, until: at }, false)).toBe(surely);
  },
);

it.for([
  ['unix', {}, true],
  ['url', {}, false],
  ['url', { standardError: () => '' }, true],
] as const)('a time of an agent by %s is judged by our clock (%j): %s', ([kind, started, isJudged]) => {
  const real = new Reality({ transport: { kind }, ...started } as Device, {} as Streams, 0n);
  const period = { since: Date.now(), until: Date.now() };
  expect(real.isWithin('occurred_at', '2026-01-02T03:04:05.600Z', period)).toBe(!isJudged);
});
