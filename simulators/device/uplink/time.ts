import { backoffMs } from '../../../harness/common/waiting.ts';
import { type Clock, steadyClock, systemClock } from '../../common/clock.ts';
import type { Random } from '../../common/random.ts';

export interface Time extends Clock {
  /** Milliseconds of a steady clock, which no change of the wall clock affects. */
  elapsed(): number;
  after(ms: number, task: () => void): Timer;
  cancel(timer: Timer | undefined): void;
}

export type Timer = object;

export const systemTime: Time = {
  ...systemClock,
  elapsed: () => steadyClock.now(),
  after: (ms, task) => setTimeout(task, ms),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
};

export const moment = (milliseconds: number): string | undefined =>
  milliseconds > 0 ? new Date(milliseconds).toISOString() : undefined;

export function pause(time: Time, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      time.cancel(timer);
      reject(signal?.reason);
    };
    const timer = time.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const POLL_INTERVAL = 12 * HOUR;

/** Milliseconds before a retry after a network error. */
export const transientDelay = (random: Random): number => 500 + random.next() * 500;

/** Milliseconds before the retry of a failed deployment or sync. */
export const failureDelay = (attempt: number): number =>
  backoffMs({ firstMs: 15 * SECOND, longestMs: 24 * HOUR }, attempt);

/** Milliseconds before the next sync after a network failure. */
export const networkDelay = (attempt: number): number =>
  backoffMs({ firstMs: 15 * SECOND, longestMs: 5 * MINUTE }, attempt);

/** Milliseconds before a reconnection; jitter spreads a fleet. */
export const reconnectDelay = (attempt: number, random: Random): number =>
  backoffMs({ firstMs: SECOND, longestMs: 5 * MINUTE, jitter: 0.25 }, attempt, () => random.next());

export interface WheelMember {
  beat(): void;
}

/** One timer for all members, because thousands of timers would cost more than the devices. */
export class Wheel {
  readonly #time: Omit<Time, 'now'>;
  readonly #tickMs: number;
  readonly #slots: Set<WheelMember>[];
  #position = 0;
  #reachedAt = 0;
  #members = 0;
  #timer: Timer | undefined;

  /** `turnMs`: milliseconds in which each slot runs once. */
  constructor(time: Omit<Time, 'now'>, turnMs: number, slots: number) {
    this.#time = time;
    this.#tickMs = turnMs / slots;
    this.#slots = Array.from({ length: slots }, () => new Set());
  }

  add(member: WheelMember): number {
    const slot = this.#position;
    this.#slots[slot]?.add(member);
    this.#members += 1;
    if (this.#timer === undefined) {
      this.#reachedAt = this.#time.elapsed();
      this.#timer = this.#time.after(this.#tickMs, this.#tick);
    }
    return slot;
  }

  delete(member: WheelMember, slot: number): void {
    if (!this.#slots[slot]?.delete(member)) return;
    this.#members -= 1;
    if (this.#members > 0) return;
    this.#time.cancel(this.#timer);
    this.#timer = undefined;
  }

  #tick = (): void => {
    this.#timer = this.#time.after(this.#tickMs, this.#tick);
    for (let left = this.due(); left > 0; left -= 1) {
      this.#position = (this.#position + 1) % this.#slots.length;
      for (const member of this.#slots[this.#position] ?? []) member.beat();
    }
  };

  /** Number of ticks due by the clock, because a busy machine fires timers late. */
  protected due(): number {
    const due = Math.floor((this.#time.elapsed() - this.#reachedAt) / this.#tickMs);
    this.#reachedAt += due * this.#tickMs;
    return Math.min(due, this.#slots.length);
  }
}
