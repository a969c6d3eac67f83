/**
 * The times of each robot's actions, a function of seed, phase and the robot's index alone: every worker or shard that hosts a robot
 * computes the same times, and all robots together keep the wanted rate.
 */
import type { Arrivals } from '../scenario/scenario.ts';

/** Seeded randomness. */
export interface Draw {
  /** Uniform in [0, 1). */
  next(): number;
}

/** The times of one robot's actions, ascending, milliseconds after the phase began. */
export interface Moments {
  /** The next time; `undefined` after the last. */
  next(): number | undefined;
}

/** A seeded shuffle of the fleet: `rank[robot]`, from 0. Every part of a fleet computes the same one. */
export function ranks(robots: number, draw: Draw): Uint32Array {
  const rank = Uint32Array.from({ length: robots }, (_, robot) => robot);
  for (let last = robots - 1; last > 0; last -= 1) {
    const other = Math.floor(draw.next() * (last + 1));
    const held = rank[last] ?? 0;
    rank[last] = rank[other] ?? 0;
    rank[other] = held;
  }
  return rank;
}

export interface RateOptions {
  /** Events a second over the whole fleet. */
  rate: number;
  robots: number;
  /** The robot's rank in the shuffle. */
  rank: number;
  durationMs: number;
  arrivals: Arrivals;
  /** The robot's own randomness. */
  draw: Draw;
}

/** A robot's part of a rate of the whole fleet. */
export function atRate({ rate, robots, rank, durationMs, arrivals, draw }: RateOptions): Moments {
  if (rate <= 0) return { next: () => undefined };
  const slot = 1000 / rate;
  const within = (at: number): number | undefined => (at < durationMs ? at : undefined);
  if (arrivals === 'poisson') {
    let at = 0;
    return {
      next: () => {
        at += -Math.log(1 - draw.next()) * slot * robots;
        return within(at);
      },
    };
  }
  let turn = 0;
  return {
    next: () => {
      const start = (rank + turn * robots) * slot;
      turn += 1;
      return within(arrivals === 'jitter' ? start + draw.next() * slot : start);
    },
  };
}

export interface OnceOptions {
  /** The robots with a rank below `of` take part. */
  of: number;
  rank: number;
  overMs: number;
  arrivals: Arrivals;
  draw: Draw;
}

/** The time of an action that a robot carries out once; `undefined` when it does not take part. */
export function once({ of, rank, overMs, arrivals, draw }: OnceOptions): number | undefined {
  if (rank >= of) return undefined;
  switch (arrivals) {
    case 'constant':
      return (rank / of) * overMs;
    case 'jitter':
      return ((rank + draw.next()) / of) * overMs;
    case 'poisson': // A given number of arrivals of a Poisson process is uniform over the time.
      return draw.next() * overMs;
  }
}
