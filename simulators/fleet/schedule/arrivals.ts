/**
 * When each robot does what, derived from seed, phase and the robot's own index alone: whichever worker or shard hosts
 * a robot computes the same moments, and all robots together make up the wanted rate.
 */
import type { Arrivals } from '../scenario/scenario.ts';

/** Seeded randomness, injected. */
export interface Draw {
  /** Uniform in [0, 1). */
  next(): number;
}

/** Moments of one robot, ascending, milliseconds after the phase began. */
export interface Moments {
  /** `undefined` when there is none left. */
  next(): number | undefined;
}

/** A seeded shuffle of the fleet: `rank[robot]`, from 0. Every part of a fleet computes the same. */
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
  /** Position of this robot in the fleet's shuffle. */
  rank: number;
  durationMs: number;
  arrivals: Arrivals;
  /** The robot's own stream of randomness. */
  draw: Draw;
}

/** This robot's part of a rate that the whole fleet keeps up. */
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
  /** The first `of` robots of the shuffle take part. */
  of: number;
  rank: number;
  overMs: number;
  arrivals: Arrivals;
  draw: Draw;
}

/** The moment at which a robot does something once, or `undefined` when it does not take part. */
export function once({ of, rank, overMs, arrivals, draw }: OnceOptions): number | undefined {
  if (rank >= of) return undefined;
  switch (arrivals) {
    case 'constant':
      return (rank / of) * overMs;
    case 'jitter':
      return ((rank + draw.next()) / of) * overMs;
    case 'poisson': // Given their number, the arrivals of a Poisson process are uniform over the time.
      return draw.next() * overMs;
  }
}
