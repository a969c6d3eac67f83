/**
 * Plans and runs the actions of robots. The times follow only from scenario, seed and index, so that shards and
 * workers agree. An action starts at its intended time, even if earlier actions are slow (no coordinated omission).
 */

import { setImmediate } from 'node:timers/promises';
import { durationMs } from '../../../harness/common/units.ts';
import { LONGEST_TIMER_MS } from '../../../harness/common/waiting.ts';
import { type Random, random } from '../../common/random.ts';
import {
  type Arrivals,
  type Phase,
  ratePerSecond,
  robotsOf,
  type Scenario,
  shareOf,
  TRAFFIC,
  TRAFFIC_NAMES,
  type TrafficAction,
} from '../scenario/scenario.ts';

export type ActionKind = TrafficAction | 'start' | 'rollout' | 'storm' | 'partition' | 'kill' | 'clock-skew' | 'stop';

export interface ActionStream {
  robot: number;
  kind: ActionKind;
  moments: Moments;
  /** True if all robots act together; the verdict then ignores lateness. */
  burst: boolean;
  pages?: Random;
}

export interface PlanOptions {
  seed: number | string;
  robots: number;
  classes?: Scenario['classes'] | undefined;
  phases?: readonly Phase[];
}

/** Milliseconds in which a phase starts actions; the last actions may take longer. */
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
  const { seed } = plan;
  const { places, robots } = placesOf(phase, plan);
  const members = places === undefined ? all : all.filter((robot) => places.has(robot));
  const placeOf = (robot: number): number => places?.get(robot) ?? robot;
  const name = `phase ${index}`;
  const own = (kind: ActionKind, robot: number) => random(`${seed}/${name}/${kind}/${robot}`);
  const streams: ActionStream[] = [];
  const main = mainAction(phase);
  if (main !== undefined) {
    const { kind, overMs, arrivals } = main;
    const { of, rankOf } = turnsOf(plan, index, phase);
    for (const robot of members) {
      const rank = rankOf(robot);
      if (rank >= of) continue;
      const drawn = arrivals === 'constant' ? 0 : own(kind, robot).next();
      // Draws Poisson arrivals uniformly, because their number is given: one for each robot.
      const left = [(arrivals === 'poisson' ? drawn : (rank + drawn) / of) * overMs];
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
      const moments = atRate(shared, rank[placeOf(robot)] ?? 0, own(kind, robot));
      const paged = kind === 'list' || kind === 'expand';
      const pages = paged ? random(`${seed}/${name}/${kind === 'list' ? 'page' : kind}/${robot}`) : undefined;
      streams.push({ robot, kind, moments, burst: false, ...(pages && { pages }) });
    }
  }
  return streams;
}

function placesOf(phase: Phase, plan: PlanOptions): { robots: number; places?: ReadonlyMap<number, number> } {
  const name = 'class' in phase ? phase.class : undefined;
  if (name === undefined) return { robots: plan.robots };
  const places = new Map(robotsOf(plan, plan.robots, name).map((robot, place) => [robot, place]));
  return { robots: places.size, places };
}

/** Only robots with a rank below `of` act. */
interface Turns {
  of: number;
  rankOf(robot: number): number;
}

const LAST = Number.POSITIVE_INFINITY;

/** Leaves out robots of the release's earlier stages; a stage reaches at least one robot while any is left. */
function turnsOf(plan: PlanOptions, index: number, phase: Phase): Turns {
  const stages = [drawnTurns(plan, index, phase)];
  if (phase.do === 'rollout' && phase.release !== undefined) {
    for (let at = index - 1; at >= 0; at -= 1) {
      const other = plan.phases?.[at];
      if (other?.do !== 'rollout') continue;
      if (other.release !== phase.release) break;
      stages.unshift(drawnTurns(plan, at, other));
    }
  }
  if (stages.length === 1) return stages[0] as Turns;
  const reached = new Set<number>();
  let turns: number[] = [];
  for (const { of, rankOf } of stages) {
    const open = membersOf(plan.robots)
      .filter((robot) => rankOf(robot) < LAST && !reached.has(robot))
      .toSorted((a, b) => rankOf(a) - rankOf(b));
    const due = open.filter((robot) => rankOf(robot) < of);
    turns = due.length > 0 ? due : open.slice(0, 1);
    for (const robot of turns) reached.add(robot);
  }
  const ranked = new Map(turns.map((robot, turn) => [robot, turn]));
  return { of: turns.length, rankOf: (robot) => ranked.get(robot) ?? LAST };
}

/** Phases with the same release and class draw the same order, so that a larger share includes a smaller one. */
function drawnTurns(plan: PlanOptions, index: number, phase: Phase): Turns {
  const { places, robots } = placesOf(phase, plan);
  const name =
    phase.do === 'rollout' && phase.release !== undefined
      ? `release ${phase.release}/${phase.class ?? ''}`
      : `phase ${index}/share`;
  const rank = ranks(robots, random(`${plan.seed}/${name}`));
  const rankOf = (robot: number): number => {
    const place = places === undefined ? robot : places.get(robot);
    return place === undefined ? LAST : (rank[place] ?? LAST);
  };
  const share = (mainAction(phase)?.share ?? 0) * robots;
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

/** Part number `index`, counted from 1, of a fleet in `count` parts. */
export interface Shard {
  index: number;
  count: number;
}

/** Every `count`th robot, so that neighbours are on different shards. */
export function membersOf(robots: number, part: Shard = { index: 1, count: 1 }): number[] {
  const members: number[] = [];
  for (let robot = part.index - 1; robot < robots; robot += part.count) members.push(robot);
  return members;
}

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

/** `rate`: actions per second of the whole fleet. */
function atRate(
  { rate, robots, durationMs, arrivals }: { rate: number; robots: number; durationMs: number; arrivals: Arrivals },
  rank: number,
  draw: Random,
): Moments {
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

/** Milliseconds of CLOCK_MONOTONIC, which all processes of a machine share. */
export const monotonicMs = (() => {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return (): number => performance.now() + offset;
})();

/** Times in ascending order, in milliseconds from the start of the schedule. */
export interface Moments {
  next(): number | undefined;
}

interface ScheduleOptions {
  /** Start of the schedule, in milliseconds of the clock `now`. */
  epoch: number;
  streams: readonly Moments[];
  /** Starts an action without blocking. `intended`: milliseconds of the clock `now`. */
  fire(stream: number, intended: number): void;
  signal?: AbortSignal;
  now?(): number;
}

export async function runSchedule(options: ScheduleOptions): Promise<void> {
  const { epoch, streams, fire, signal } = options;
  const now = options.now ?? monotonicMs;
  const queue = new DueQueue(streams);
  while (queue.size > 0 && signal?.aborted !== true) {
    let fired = 0;
    let clock = now();
    // Maximum actions in one turn of the event loop, so that answers are read between actions.
    while (queue.size > 0 && fired < 256 && epoch + queue.due <= clock) {
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

/** Waits with a third of the overhead of `node:timers/promises`, because every action may wait once. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    // Rounds down, because timers take whole milliseconds and never fire early.
    const timer = setTimeout(done, Math.min(Math.floor(ms), LONGEST_TIMER_MS));
    signal?.addEventListener('abort', done, { once: true });
    if (signal?.aborted === true) done();
  });
}

/** Binary heap of streams by the time of the next action; allocates no memory for an action. */
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

  take(): number {
    const stream = this.#heap[0] ?? 0;
    const at = this.#streams[stream]?.next();
    if (at === undefined) {
      this.size -= 1;
      this.#heap[0] = this.#heap[this.size] ?? 0;
    } else this.#due[stream] = at;
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
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < this.size && this.#before(heap[child] ?? 0, heap[least] ?? 0)) least = child;
      if (least === at) return;
      const held = heap[at] ?? 0;
      heap[at] = heap[least] ?? 0;
      heap[least] = held;
      at = least;
    }
  }
}

/** Waits for given times (`monotonicMs`), which all finish early when `end` is called. */
export class Deadlines {
  readonly #open = new Set<() => void>();
  ended = false;

  end(): void {
    this.ended = true;
    for (const finish of [...this.#open]) finish();
  }

  until(time: number): Promise<void> {
    return this.at(time).promise;
  }

  at(time: number): { promise: Promise<void>; finish(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = (): void => {
      clearTimeout(timer);
      this.#open.delete(finish);
      resolve();
    };
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      const left = Math.max(time - monotonicMs(), 0);
      timer = left > LONGEST_TIMER_MS ? setTimeout(wait, LONGEST_TIMER_MS) : setTimeout(finish, left);
    };
    wait();
    this.#open.add(finish);
    if (this.ended) finish();
    return { promise, finish };
  }

  /** False if `work` is not done by `time`; true if it is done or the run ends. */
  async reached(time: number, work: Promise<unknown>): Promise<boolean> {
    const wait = this.at(time);
    try {
      return await Promise.race([work.then(() => true), wait.promise.then(() => this.ended)]);
    } finally {
      wait.finish();
    }
  }
}
