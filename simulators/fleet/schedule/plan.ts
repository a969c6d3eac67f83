/**
 * The actions of every robot in every phase of a scenario and their times, a pure function of scenario, seed and the
 * robot's index: any split of the fleet over shards and workers carries out the same actions, and all robots together
 * keep the wanted rate.
 */
import { durationMs } from '../../../harness/common/durations.ts';
import { type Random, random } from '../../common/random.ts';
import { type Arrivals, type Phase, ratePerSecond, shareOf } from '../scenario/scenario.ts';
import type { Moments } from './scheduler.ts';

export type ActionKind = 'start' | 'ping' | 'list' | 'rollout' | 'storm' | 'partition' | 'kill' | 'clock-skew' | 'stop';

/** One kind of action of one robot within a phase. */
export interface ActionStream {
  robot: number;
  kind: ActionKind;
  moments: Moments;
  /** Due at the same moment as those of all other robots: how soon it starts says nothing about the generator. */
  burst: boolean;
  /** Draws the page of each `list`, in turn. */
  pages?: Random;
}

export interface PlanOptions {
  seed: number;
  /** Robots of the whole fleet. */
  robots: number;
}

const DEFAULT_ARRIVALS: Arrivals = 'poisson';

/** Length of a phase's schedule, milliseconds. Its last actions may take longer. */
export function scheduleMs(phase: Phase): number {
  switch (phase.do) {
    case 'hold':
    case 'partition':
      return durationMs(phase.for);
    case 'kill-worker':
    case 'clock-skew':
      return 0;
    default:
      return durationMs(phase.over);
  }
}

/** The streams of `members` in the phase number `index`. */
export function streamsOf(
  { seed, robots }: PlanOptions,
  index: number,
  phase: Phase,
  members: readonly number[],
): ActionStream[] {
  const name = `phase ${index}`;
  const own = (kind: ActionKind, robot: number) => random(`${seed}/${name}/${kind}/${robot}`);
  const streams: ActionStream[] = [];

  const main = mainAction(phase);
  if (main !== undefined) {
    const rank = ranks(robots, random(`${seed}/${name}/share`));
    const of = Math.round(main.share * robots);
    for (const robot of members) {
      const at = once({
        of,
        rank: rank[robot] ?? 0,
        overMs: main.overMs,
        arrivals: main.arrivals,
        draw: own(main.kind, robot),
      });
      if (at !== undefined) streams.push({ robot, kind: main.kind, moments: single(at), burst: main.overMs === 0 });
    }
  }
  for (const kind of ['ping', 'list'] as const) {
    const text = kind === 'ping' ? phase.ping : phase.lists;
    if (text === undefined) continue;
    const rank = ranks(robots, random(`${seed}/${name}/${kind}`));
    const shared = {
      rate: ratePerSecond(text),
      robots,
      durationMs: scheduleMs(phase),
      arrivals: phase.arrivals ?? DEFAULT_ARRIVALS,
    };
    for (const robot of members) {
      const moments = atRate({ ...shared, rank: rank[robot] ?? 0, draw: own(kind, robot) });
      const pages = kind === 'list' ? random(`${seed}/${name}/page/${robot}`) : undefined;
      streams.push({ robot, kind, moments, burst: false, ...(pages && { pages }) });
    }
  }
  return streams;
}

/** The action that each robot of a phase's share carries out once. */
function mainAction(phase: Phase): { kind: ActionKind; share: number; overMs: number; arrivals: Arrivals } | undefined {
  const share = 'share' in phase && phase.share !== undefined ? shareOf(phase.share) : 1;
  const arrivals = phase.arrivals ?? DEFAULT_ARRIVALS;
  switch (phase.do) {
    case 'ramp':
      return { kind: 'start', share: 1, overMs: scheduleMs(phase), arrivals: phase.arrivals ?? 'constant' };
    case 'stop':
      return { kind: 'stop', share: 1, overMs: scheduleMs(phase), arrivals: phase.arrivals ?? 'constant' };
    case 'rollout':
    case 'storm':
    case 'kill':
      return { kind: phase.do, share, overMs: scheduleMs(phase), arrivals };
    case 'partition':
    case 'clock-skew':
      return { kind: phase.do, share, overMs: 0, arrivals: 'constant' };
    default:
      return undefined;
  }
}

function single(at: number): Moments {
  let left: number | undefined = at;
  return {
    next: () => {
      const taken = left;
      left = undefined;
      return taken;
    },
  };
}

/** The robots of a shard: every `part.count`th, so that neighbours are on different shards. */
export function membersOf(robots: number, part: { index: number; count: number }): number[] {
  const members: number[] = [];
  for (let robot = part.index - 1; robot < robots; robot += part.count) members.push(robot);
  return members;
}

/** Seeded randomness. */
interface Draw {
  /** Uniform in [0, 1). */
  next(): number;
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

interface RateOptions {
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

interface OnceOptions {
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
