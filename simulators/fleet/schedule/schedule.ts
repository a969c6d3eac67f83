/**
 * The actions of every robot in every phase of a scenario and their times, a pure function of scenario, seed and the
 * robot's index: any split of the fleet over shards and workers carries out the same actions, and all robots together
 * keep the wanted rate.
 */

import { setImmediate } from 'node:timers/promises';
import { durationMs } from '../../../harness/common/durations.ts';
import { type Random, random } from '../../common/random.ts';
import { robotsOf } from '../scenario/classes.ts';
import { type Arrivals, type Phase, ratePerSecond, type Scenario, shareOf } from '../scenario/scenario.ts';
import { TRAFFIC, TRAFFIC_NAMES, type TrafficAction } from '../scenario/uplinks.ts';

// The shared clock, and the two ways to wait on it: an open-loop schedule, and deadlines that the end of a run cuts
// short.
//
// Open loop: every action starts at its intended time even when earlier ones are still running, and its lateness is
// reported, so that a slow generator cannot hide behind a slow target (coordinated omission).

/** Milliseconds on the clock that all processes of a machine share (CLOCK_MONOTONIC): the shared clock. */
export const monotonicMs = (() => {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return (): number => performance.now() + offset;
})();

/** The times of a stream of actions, ascending, milliseconds after the schedule began. */
export interface Moments {
  /** The next time; `undefined` after the last. */
  next(): number | undefined;
}

interface ScheduleOptions {
  /** Start of the schedule, on `now`'s clock. */
  epoch: number;
  /** One for each stream of actions, e.g. the pings of one robot. */
  streams: readonly Moments[];
  /** Starts an action, without blocking. `intended` is on `now`'s clock. */
  fire(stream: number, intended: number): void;
  signal?: AbortSignal;
  now?(): number;
}

/** Actions between two turns of the event loop, so that answers are read even when the schedule is behind. */
const BATCH = 256;

/** Resolves when every stream has ended or the signal aborts. */
export async function runSchedule(options: ScheduleOptions): Promise<void> {
  const { epoch, streams, fire, signal } = options;
  const now = options.now ?? monotonicMs;
  const queue = new DueQueue(streams);
  while (queue.size > 0 && signal?.aborted !== true) {
    let fired = 0;
    let clock = now();
    while (queue.size > 0 && fired < BATCH && epoch + queue.due <= clock) {
      const intended = epoch + queue.due;
      const stream = queue.take();
      fire(stream, intended);
      fired += 1;
      clock = now();
    }
    if (queue.size === 0) break;
    const wait = epoch + queue.due - now();
    await (wait <= 0 ? setImmediate() : sleep(wait, signal));
  }
}

/** By hand, since every action waits once: one of `node:timers/promises` with a signal takes three times as long. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    // Timers take whole milliseconds and never fire early, so the floor wakes less than one before the time.
    const timer = setTimeout(done, Math.min(Math.floor(ms), 2 ** 31 - 1));
    signal?.addEventListener('abort', done, { once: true });
    if (signal?.aborted === true) done();
  });
}

/**
 * Streams by their next time; ties go to the lower stream number. A binary heap over typed arrays, because tens of
 * thousands of streams allocate nothing per action this way.
 */
class DueQueue {
  readonly #streams: readonly Moments[];
  readonly #due: Float64Array;
  readonly #heap: Uint32Array;
  size = 0;

  constructor(streams: readonly Moments[]) {
    this.#streams = streams;
    this.#due = new Float64Array(streams.length);
    this.#heap = new Uint32Array(streams.length);
    for (let stream = 0; stream < streams.length; stream += 1) {
      const at = streams[stream]?.next();
      if (at === undefined) continue;
      this.#due[stream] = at;
      this.#heap[this.size] = stream;
      this.size += 1;
    }
    for (let at = (this.size >> 1) - 1; at >= 0; at -= 1) this.#down(at);
  }

  get due(): number {
    return this.#due[this.#heap[0] ?? 0] ?? Number.POSITIVE_INFINITY;
  }

  /** The stream that is due first; it stays in the queue with its next time. */
  take(): number {
    const stream = this.#heap[0] ?? 0;
    const at = this.#streams[stream]?.next();
    if (at === undefined) {
      this.size -= 1;
      this.#heap[0] = this.#heap[this.size] ?? 0;
    } else {
      this.#due[stream] = at;
    }
    this.#down(0);
    return stream;
  }

  #before(a: number, b: number): boolean {
    const left = this.#due[a] ?? 0;
    const right = this.#due[b] ?? 0;
    return left < right || (left === right && a < b);
  }

  #down(from: number): void {
    const heap = this.#heap;
    let at = from;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.size && this.#before(heap[child] ?? 0, heap[least] ?? 0)) least = child;
      }
      if (least === at) return;
      const held = heap[at] ?? 0;
      heap[at] = heap[least] ?? 0;
      heap[least] = held;
      at = least;
    }
  }
}

/** All times are milliseconds on the shared clock. */
export class Deadlines {
  readonly #open = new Set<() => void>();
  #ended = false;

  /** Ends all waits, present and future. */
  end(): void {
    this.#ended = true;
    for (const finish of [...this.#open]) finish();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves at `time`, or at the end of the run. */
  until(time: number): Promise<void> {
    return this.at(time).promise;
  }

  /** Like `until`, but `finish` resolves it earlier. */
  at(time: number): { promise: Promise<void>; finish(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = (): void => {
      clearTimeout(timer);
      this.#open.delete(finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.max(time - monotonicMs(), 0));
    this.#open.add(finish);
    if (this.#ended) finish();
    return { promise, finish };
  }

  /**
   * Resolves with false when `work` is not done at `time`, with true when it is or the run has ended. Rejects when
   * `work` does.
   */
  async reached(time: number, work: Promise<unknown>): Promise<boolean> {
    const wait = this.at(time);
    try {
      return await Promise.race([work.then(() => true), wait.promise.then(() => this.#ended)]);
    } finally {
      wait.finish();
    }
  }
}

export type ActionKind = TrafficAction | 'start' | 'rollout' | 'storm' | 'partition' | 'kill' | 'clock-skew' | 'stop';

/** One kind of action of one robot within a phase. */
export interface ActionStream {
  robot: number;
  kind: ActionKind;
  moments: Moments;
  /** Due at the same moment as those of all other robots: how soon it starts says nothing about the generator. */
  burst: boolean;
  /** Draws the page of each `list` or `expand`, in turn. */
  pages?: Random;
}

export interface PlanOptions {
  seed: number;
  /** Robots of the whole fleet. */
  robots: number;
  classes?: Scenario['classes'] | undefined;
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
  { seed, robots: whole, classes }: PlanOptions,
  index: number,
  phase: Phase,
  all: readonly number[],
): ActionStream[] {
  const { places, robots } = placesOf(phase, whole, classes);
  const members = places === undefined ? all : all.filter((robot) => places.has(robot));
  const placeOf = (robot: number): number => places?.get(robot) ?? robot;
  const name = `phase ${index}`;
  const own = (kind: ActionKind, robot: number) => random(`${seed}/${name}/${kind}/${robot}`);
  const streams: ActionStream[] = [];

  const main = mainAction(phase);
  if (main !== undefined) {
    const rank = ranks(robots, random(`${seed}/${name}/share`));
    const of = Math.round(main.share * robots);
    for (const robot of members) {
      const { kind, overMs, arrivals } = main;
      const at = once({ of, rank: rank[placeOf(robot)] ?? 0, overMs, arrivals, draw: own(kind, robot) });
      if (at !== undefined) streams.push({ robot, kind, moments: single(at), burst: overMs === 0 });
    }
  }
  for (const field of TRAFFIC_NAMES) {
    const { action: kind } = TRAFFIC[field];
    const text = phase[field];
    if (text === undefined) continue;
    const rank = ranks(robots, random(`${seed}/${name}/${kind}`));
    const shared = {
      rate: ratePerSecond(text),
      robots,
      durationMs: scheduleMs(phase),
      arrivals: phase.arrivals ?? DEFAULT_ARRIVALS,
    };
    for (const robot of members) {
      const moments = atRate({ ...shared, rank: rank[placeOf(robot)] ?? 0, draw: own(kind, robot) });
      const paged = kind === 'list' || kind === 'expand';
      const pages = paged ? random(`${seed}/${name}/${kind === 'list' ? 'page' : kind}/${robot}`) : undefined;
      streams.push({ robot, kind, moments, burst: false, ...(pages && { pages }) });
    }
  }
  return streams;
}

/** The robots that the phase is about: how many there are, and the place of each, where not all take part. */
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

/** The action that each robot of a phase's share carries out once. */
function mainAction(phase: Phase): { kind: ActionKind; share: number; overMs: number; arrivals: Arrivals } | undefined {
  const share = 'share' in phase && phase.share !== undefined ? shareOf(phase.share) : 1;
  const { arrivals = phase.do === 'ramp' || phase.do === 'stop' ? 'constant' : DEFAULT_ARRIVALS } = phase;
  switch (phase.do) {
    case 'ramp':
      return { kind: 'start', share, overMs: scheduleMs(phase), arrivals };
    case 'stop':
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

/** Part `index`, from 1, of `count` parts of a fleet. */
export interface Shard {
  index: number;
  count: number;
}

/** The robots of a shard, by default of the whole: every `part.count`th, so that neighbours are on different shards. */
export function membersOf(robots: number, part: Shard = { index: 1, count: 1 }): number[] {
  const members: number[] = [];
  for (let robot = part.index - 1; robot < robots; robot += part.count) members.push(robot);
  return members;
}

type Draw = Pick<Random, 'next'>;

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

/** One robot among those of an action. */
interface Arriving {
  /** The robot's rank in the shuffle. */
  rank: number;
  arrivals: Arrivals;
  /** The robot's own randomness. */
  draw: Draw;
}

interface RateOptions extends Arriving {
  /** Events a second over the whole fleet. */
  rate: number;
  robots: number;
  durationMs: number;
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

interface OnceOptions extends Arriving {
  /** The robots with a rank below `of` take part. */
  of: number;
  overMs: number;
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
