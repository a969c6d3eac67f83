/**
 * Computes the times of every robot's actions from scenario, seed and index alone, so that shards and workers agree.
 */

import { durationMs } from '../../../harness/common/durations.ts';
import { type Random, random } from '../../common/random.ts';
import { robotsOf } from '../scenario/classes.ts';
import { type Arrivals, type Phase, ratePerSecond, type Scenario, shareOf } from '../scenario/scenario.ts';
import { TRAFFIC, TRAFFIC_NAMES, type TrafficAction } from '../scenario/uplinks.ts';
import type { Moments } from './clock.ts';

export type ActionKind = TrafficAction | 'start' | 'rollout' | 'storm' | 'partition' | 'kill' | 'clock-skew' | 'stop';

export interface ActionStream {
  robot: number;
  kind: ActionKind;
  moments: Moments;
  /** True if all robots act at once; the verdict on the load generator then ignores lateness. */
  burst: boolean;
  pages?: Random;
}

export interface PlanOptions {
  seed: number | string;
  robots: number;
  classes?: Scenario['classes'] | undefined;
  phases?: readonly Phase[];
}

/** Returns the milliseconds in which a phase starts actions; the last actions may take longer. */
export function scheduleMs(phase: Phase): number {
  switch (phase.do) {
    case 'hold':
    case 'partition':
      return durationMs(phase.for);
    case 'clock-skew':
      return 0;
    default:
      return durationMs(phase.over);
  }
}

export function streamsOf(plan: PlanOptions, index: number, phase: Phase, all: readonly number[]): ActionStream[] {
  const { seed, robots: whole, classes } = plan;
  const { places, robots } = placesOf(phase, whole, classes);
  const members = places === undefined ? all : all.filter((robot) => places.has(robot));
  const placeOf = (robot: number): number => places?.get(robot) ?? robot;
  const name = `phase ${index}`;
  const own = (kind: ActionKind, robot: number) => random(`${seed}/${name}/${kind}/${robot}`);
  const streams: ActionStream[] = [];

  const main = mainAction(phase);
  if (main !== undefined) {
    const { of, rankOf } = turnsOf(plan, index, phase);
    for (const robot of members) {
      const { kind, overMs, arrivals } = main;
      const at = once({ of, rank: rankOf(robot), overMs, arrivals, draw: own(kind, robot) });
      if (at === undefined) continue;
      const left = [at];
      streams.push({ robot, kind, moments: { next: () => left.pop() }, burst: overMs === 0 });
    }
  }
  for (const field of TRAFFIC_NAMES) {
    const { action: kind } = TRAFFIC[field];
    const text = phase[field];
    if (text === undefined) continue;
    const rank = ranks(robots, random(`${seed}/${name}/${kind}`));
    const { arrivals = 'poisson' } = phase;
    const shared = { rate: ratePerSecond(text), robots, durationMs: scheduleMs(phase), arrivals };
    for (const robot of members) {
      const moments = atRate({ ...shared, rank: rank[placeOf(robot)] ?? 0, draw: own(kind, robot) });
      const paged = kind === 'list' || kind === 'expand';
      const pages = paged ? random(`${seed}/${name}/${kind === 'list' ? 'page' : kind}/${robot}`) : undefined;
      streams.push({ robot, kind, moments, burst: false, ...(pages && { pages }) });
    }
  }
  return streams;
}

function placesOf(
  phase: Phase,
  whole: number,
  classes: Scenario['classes'],
): { robots: number; places?: ReadonlyMap<number, number> } {
  const name = 'class' in phase ? phase.class : undefined;
  if (name === undefined) return { robots: whole };
  const places = new Map(robotsOf({ classes }, whole, name).map((robot, place) => [robot, place]));
  return { robots: places.size, places };
}

/** Order in which robots act in a phase; only robots with a rank below `of` act. */
interface Turns {
  of: number;
  rankOf(robot: number): number;
}

const LAST = Number.POSITIVE_INFINITY;

function turnsOf(plan: PlanOptions, index: number, phase: Phase): Turns {
  const drawn = drawnTurns(plan, index, phase);
  const before = earlierStages(plan.phases ?? [], index, phase).map((at) =>
    drawnTurns(plan, at, plan.phases?.[at] ?? phase),
  );
  if (before.length === 0) return drawn;
  const left = membersOf(plan.robots)
    .filter((robot) => drawn.rankOf(robot) < drawn.of)
    .filter((robot) => before.every(({ of, rankOf }) => rankOf(robot) >= of))
    .toSorted((a, b) => drawn.rankOf(a) - drawn.rankOf(b));
  const turns = new Map(left.map((robot, turn) => [robot, turn]));
  return { of: left.length, rankOf: (robot) => turns.get(robot) ?? LAST };
}

function earlierStages(phases: readonly Phase[], index: number, phase: Phase): number[] {
  if (phase.do !== 'rollout' || phase.release === undefined) return [];
  const found: number[] = [];
  for (let at = index - 1; at >= 0; at -= 1) {
    const other = phases[at];
    if (other?.do !== 'rollout') continue;
    if (other.release !== phase.release) break;
    found.push(at);
  }
  return found;
}

/** Draws the order in which robots act; all phases with the same release draw the same order. */
function drawnTurns({ seed, robots: whole, classes }: PlanOptions, index: number, phase: Phase): Turns {
  const { places, robots } = placesOf(phase, whole, classes);
  const name =
    phase.do === 'rollout' && phase.release !== undefined
      ? `release ${phase.release}/${phase.class ?? ''}`
      : `phase ${index}/share`;
  const rank = ranks(robots, random(`${seed}/${name}`));
  const rankOf = (robot: number): number => {
    const place = places === undefined ? robot : places.get(robot);
    return place === undefined ? LAST : (rank[place] ?? LAST);
  };
  const share = (mainAction(phase)?.share ?? 0) * robots;
  // Selects at least one robot, even for a small share of a small fleet.
  return { of: share === 0 ? 0 : Math.max(1, Math.round(share)), rankOf };
}

function mainAction(phase: Phase): { kind: ActionKind; share: number; overMs: number; arrivals: Arrivals } | undefined {
  const share = 'share' in phase && phase.share !== undefined ? shareOf(phase.share) : 1;
  const { arrivals = phase.do === 'ramp' || phase.do === 'stop' ? 'constant' : 'poisson' } = phase;
  switch (phase.do) {
    case 'hold':
      return undefined;
    case 'partition':
    case 'clock-skew':
      return { kind: phase.do, share, overMs: 0, arrivals: 'constant' };
    default:
      return { kind: phase.do === 'ramp' ? 'start' : phase.do, share, overMs: scheduleMs(phase), arrivals };
  }
}

/** Part of a fleet: number `index`, counted from 1, of `count` parts. */
export interface Shard {
  index: number;
  count: number;
}

/** Returns the robots of a part: every `count`th robot, so that neighbours are on different shards. */
export function membersOf(robots: number, part: Shard = { index: 1, count: 1 }): number[] {
  const members: number[] = [];
  for (let robot = part.index - 1; robot < robots; robot += part.count) members.push(robot);
  return members;
}

/** Shuffles the robots by seed, so that every shard and worker gets the same order. */
function ranks(robots: number, draw: Random): Uint32Array {
  const rank = Uint32Array.from({ length: robots }, (_, robot) => robot);
  for (let last = robots - 1; last > 0; last -= 1) {
    const other = Math.floor(draw.next() * (last + 1));
    const held = rank[last] ?? 0;
    rank[last] = rank[other] ?? 0;
    rank[other] = held;
  }
  return rank;
}

interface Arriving {
  rank: number;
  arrivals: Arrivals;
  draw: Random;
}

/** Returns the times of one robot's actions. `rate`: actions per second of the whole fleet. */
function atRate(part: Arriving & { rate: number; robots: number; durationMs: number }): Moments {
  const { rate, robots, rank, durationMs, arrivals, draw } = part;
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

function once(part: Arriving & { of: number; overMs: number }): number | undefined {
  const { of, rank, overMs, arrivals, draw } = part;
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
