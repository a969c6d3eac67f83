import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

describe('backoff', () => {
  it('doubles up to the longest delay', () => {
    const delays = [0, 1, 2, 3, 4, 1000].map((attempt) => backoffMs({ firstMs: 15, longestMs: 100 }, attempt));
    expect(delays).toEqual([15, 30, 60, 100, 100, 100]);
  });

  it('spreads by its jitter in both directions', () => {
    const spread = { firstMs: 100, longestMs: 1000, jitter: 0.25 };
    expect(backoffMs(spread, 1, () => 0)).toBe(150);
    expect(backoffMs(spread, 1, () => 0.5)).toBe(200);
    expect(backoffMs(spread, 1, () => 0.999)).toBeCloseTo(250, 0);
  });

  it('never exceeds the longest delay, whatever the attempt and the jitter', () => {
    const cases = fc.record({ attempt: fc.nat(), random: fc.double({ min: 0, max: 0.999, noNaN: true }) });
    fc.assert(
      fc.property(cases, ({ attempt, random }) => {
        const delay = backoffMs({ firstMs: 7, longestMs: 5000, jitter: 0.5 }, attempt, () => random);
        expect(delay).toBeGreaterThan(0);
        expect(delay).toBeLessThanOrEqual(5000);
      }),
    );
  });
});
