import { expect, it } from 'vitest';
import type { Device } from '../support/check.ts';
import type { Streams } from '../support/streams.ts';
import { Reality } from './reality.ts';

const OWN = { standardError: () => '' };
const OTHER = {};

it.for([
  ['2026-01-02T03:04:05Z', OWN, true, true],
  ['2026-01-02T03:04:06Z', OWN, true, true],
  ['2026-01-02T03:04:07Z', OWN, false, false],
  ['2026-01-02T05:04:05+02:00', OWN, true, true],
  ['2026-01-02T05:04:05', OWN, true, false],
  ['2026-01-02T03:04Z', OWN, true, false],
  ['2026-01-02T03:04:03.000Z', OTHER, true, false],
  ['2026-01-02T03:04:08.000Z', OTHER, true, false],
  ['2026-01-02T03:04:11.000Z', OTHER, false, false],
] as const)('%s may be a time from 03:04:05.6 to 03:04:05.7 UTC (%o): %s, surely %s', ([written, by, may, surely]) => {
  const real = new Reality({ transport: { kind: 'unix' }, ...by } as Device, {} as Streams, 0n);
  const period = { since: Date.UTC(2026, 0, 2, 3, 4, 5, 600), until: Date.UTC(2026, 0, 2, 3, 4, 5, 700) };
  expect(real.isWithin('occurred_at', written, period)).toBe(may);
  expect(real.isWithin('occurred_at', written, period, false)).toBe(surely);
});

it.for([
  ['unix', OTHER, true],
  ['url', OTHER, false],
  ['url', OWN, true],
] as const)('a time of an agent by %s is judged by our clock (%j): %s', ([kind, started, isJudged]) => {
  const real = new Reality({ transport: { kind }, ...started } as Device, {} as Streams, 0n);
  const period = { since: Date.now(), until: Date.now() };
  expect(real.isWithin('occurred_at', '2026-01-02T03:04:05.600Z', period)).toBe(!isJudged);
});
