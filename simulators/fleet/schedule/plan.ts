/**
 * The actions of every robot in every phase of a scenario, a pure function of scenario, seed and the robot's index: any split of the
 * fleet over shards and workers carries out the same actions.
 */

import { durationMs } from '../../../harness/common/durations.ts';
import { random } from '../../common/random.ts';
import type { Arrivals, Phase } from '../scenario/scenario.ts';
import { ratePerSecond, shareOf } from '../scenario/units.ts';
import { atRate, type Moments, once, ranks } from './arrivals.ts';

export type ActionKind = 'start' | 'ping' | 'list' | 'rollout' | 'storm' | 'partition' | 'kill' | 'clock-skew' | 'stop';

/** One kind of action of one robot within a phase. */
export interface ActionStream {
  robot: number;
  kind: ActionKind;
  moments: Moments;
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
      if (at !== undefined) streams.push({ robot, kind: main.kind, moments: single(at) });
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
      streams.push({ robot, kind, moments: atRate({ ...shared, rank: rank[robot] ?? 0, draw: own(kind, robot) }) });
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
