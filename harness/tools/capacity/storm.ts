/**
 * A reconnect storm as a discrete simulation: all robots lose their connection at once, and come back to a platform that admits so many
 * connections a second and refuses the others at once. Robots wait as the simulated agent does.
 */
import { type Random, random } from '../../../simulators/common/random.ts';
import { reconnectDelay } from '../../../simulators/device/uplink/time.ts';

/** What a refusal tells a robot. */
export type Advice =
  /** Nothing: the robot doubles its delay. */
  | 'none'
  /** Retry-After in seconds, the same for all: the robot waits as long at least. */
  | number
  /** Retry-After of the moment at which there will be room, one robot after the other. */
  | 'reserved';

export interface Storm {
  robots: number;
  /** Connections a second that the platform admits. */
  capacity: number;
  /** Attempts a second that it answers, refusals among them; others wait in its queue. Default: as many as come. */
  answers?: number;
  /** Default none. */
  advice?: Advice;
  seed?: number;
}

/** Times are milliseconds after the loss. */
export interface StormOutcome {
  /** When that share of the robots was connected again, and how long robots were away on average. */
  back: { mean: number; p50: number; p90: number; p99: number; all: number };
  attempts: number;
  /** Attempts that were answered in the busiest second. */
  busiest: number;
}

/** Moments closer than this are one. */
const SLOT_MS = 10;
const SLOTS_PER_SECOND = 1000 / SLOT_MS;

/**
 * Runs it. What an answer takes on the network is left out: it is short beside the delays. `admitted` has the moment at which each robot was
 * connected again, ascending.
 */
export function storm(options: Storm): StormOutcome & { admitted: readonly number[] } {
  const { robots, capacity, answers = Number.POSITIVE_INFINITY, advice = 'none', seed = 1 } = options;
  const draws = random(seed);
  // It admits at once what a tenth of a second has saved up.
  const most = Math.max(1, capacity / 10);
  const failures = new Uint8Array(robots);
  const waiting = new Agenda();
  const queue = new Queue();
  const admitted: number[] = [];
  const perSecond: number[] = [];
  let room = most;
  let reservedUntil = 0;
  let answerable = 0;
  for (let robot = 0; robot < robots; robot += 1) waiting.add(reconnectDelay(0, draws), robot);
  for (let slot = 0; admitted.length < robots; slot += 1) {
    const now = slot * SLOT_MS;
    room = Math.min(most, room + capacity / SLOTS_PER_SECOND);
    queue.add(waiting.take(slot));
    answerable = Math.min(answers, answerable + answers / SLOTS_PER_SECOND);
    for (; answerable >= 1 && queue.length > 0; answerable -= 1) {
      const robot = queue.next();
      const second = Math.floor(slot / SLOTS_PER_SECOND);
      perSecond[second] = (perSecond[second] ?? 0) + 1;
      const invited = advice === 'reserved' && (failures[robot] ?? 0) > 0;
      if (invited || room >= 1) {
        if (!invited) room -= 1;
        admitted.push(now);
        continue;
      }
      failures[robot] = (failures[robot] ?? 0) + 1;
      reservedUntil = Math.max(reservedUntil, now) + 1000 / capacity;
      waiting.add(now + delayOf(advice, failures[robot] ?? 0, reservedUntil - now, draws), robot);
    }
    // What is promised to the invited is not there for others.
    if (advice === 'reserved' && reservedUntil > now) room = 0;
  }
  const busiest = Math.max(...perSecond.filter(Boolean));
  return { back: sharesBack(admitted), attempts: sum(perSecond), busiest, admitted };
}

function delayOf(advice: Advice, failures: number, untilRoom: number, draws: Random): number {
  if (advice === 'reserved') return untilRoom;
  const own = reconnectDelay(failures, draws);
  return advice === 'none' ? own : Math.max(own, advice * 1000);
}

/** When shares of the robots were back, by the milliseconds in which each one was, ascending. */
export function sharesBack(admitted: readonly number[]): StormOutcome['back'] {
  const at = (share: number): number => Math.round(admitted[Math.ceil(share * admitted.length) - 1] ?? 0);
  const mean = Math.round(sum(admitted) / admitted.length);
  return { mean, p50: at(0.5), p90: at(0.9), p99: at(0.99), all: at(1) };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + (number ?? 0), 0);

/** Attempts in the order in which they came. */
class Queue {
  #robots: number[] = [];
  #at = 0;

  get length(): number {
    return this.#robots.length - this.#at;
  }

  add(robots: readonly number[]): void {
    if (this.length === 0) {
      this.#robots = [...robots];
      this.#at = 0;
    } else for (const robot of robots) this.#robots.push(robot);
  }

  /** Call only when there is one. */
  next(): number {
    this.#at += 1;
    return this.#robots[this.#at - 1] ?? 0;
  }
}

/** Who tries when, in slots. */
class Agenda {
  readonly #slots = new Map<number, number[]>();

  add(ms: number, robot: number): void {
    const slot = Math.ceil(ms / SLOT_MS);
    const there = this.#slots.get(slot);
    if (there === undefined) this.#slots.set(slot, [robot]);
    else there.push(robot);
  }

  take(slot: number): readonly number[] {
    const robots = this.#slots.get(slot) ?? [];
    this.#slots.delete(slot);
    return robots;
  }
}
