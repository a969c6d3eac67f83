import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { random } from '../../common/random.ts';
import { ARRIVALS } from '../scenario/scenario.ts';
import { atRate, type Moments, once, ranks } from './arrivals.ts';

const all = (moments: Moments): number[] => {
  const found: number[] = [];
  for (let at = moments.next(); at !== undefined; at = moments.next()) found.push(at);
  return found;
};

const fleet = (arrivals: (typeof ARRIVALS)[number], rate: number, robots: number, durationMs: number): number[] => {
  const rank = ranks(robots, random(7));
  return Array.from({ length: robots }, (_, robot) =>
    all(atRate({ rate, robots, rank: rank[robot] ?? 0, durationMs, arrivals, draw: random(`7/${robot}`) })),
  )
    .flat()
    .sort((a, b) => a - b);
};

describe('a rate over the whole fleet', () => {
  it('constant: evenly spaced', () => {
    const at = fleet('constant', 50, 20, 2000);
    expect(at).toHaveLength(100);
    expect(at.every((moment, index) => Math.abs(moment - index * 20) < 1e-6)).toBe(true);
  });

  it('jitter: one in each interval', () => {
    expect(fleet('jitter', 50, 20, 2000).map((moment) => Math.floor(moment / 20))).toEqual(
      Array.from({ length: 100 }, (_, index) => index),
    );
  });

  it('poisson: the right number within five standard deviations, with memoryless gaps', () => {
    const at = fleet('poisson', 100, 50, 100_000);
    expect(Math.abs(at.length - 10_000)).toBeLessThan(500);
    const gaps = at.slice(1).map((moment, index) => moment - (at[index] ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    expect(deviation / mean).toBeCloseTo(1, 1);
  });

  it('ascends and stays within the phase', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ARRIVALS),
        fc.double({ min: 0, max: 500, noNaN: true }),
        fc.integer({ min: 1, max: 50 }),
        fc.nat(5000),
        (arrivals, rate, robots, durationMs) => {
          const at = all(
            atRate({ rate, robots, rank: robots - 1, durationMs, arrivals, draw: random(`${rate}/${robots}`) }),
          );
          return at.every((moment, index) => moment >= (at[index - 1] ?? 0) && moment < durationMs);
        },
      ),
    );
  });
});

describe('an action of each robot of a share', () => {
  it('is carried out by the first robots of the shuffle, within the time', () => {
    for (const arrivals of ARRIVALS) {
      const at = Array.from({ length: 100 }, (_, rank) =>
        once({ of: 25, rank, overMs: 1000, arrivals, draw: random(rank) }),
      );
      const taken = at.filter((moment) => moment !== undefined);
      expect(taken).toHaveLength(25);
      expect(taken.every((moment) => moment >= 0 && moment < 1000)).toBe(true);
    }
  });
});

describe('the shuffle', () => {
  it('is a permutation that depends on the seed alone', () => {
    const rank = ranks(1000, random(1));
    expect([...rank].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
    expect(ranks(1000, random(1))).toEqual(rank);
    expect(ranks(1000, random(2))).not.toEqual(rank);
  });
});
