/** Time for uplinks: a clock, timers that tests can drive, and retry delays. */
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

/** Milliseconds before a retry after a network error: 500 to 1000. */
export const transientDelay = (random: Random): number => 500 + random.next() * 500;

/** Milliseconds before the retry of a failed deployment or sync: 15 s, doubling up to 24 h. */
export const failureDelay = (attempt: number): number =>
  backoffMs({ firstMs: 15 * SECOND, longestMs: 24 * HOUR }, attempt);

/** Milliseconds before the next sync after a network failure: 15 s, doubling up to 5 min. */
export const networkDelay = (attempt: number): number =>
  backoffMs({ firstMs: 15 * SECOND, longestMs: 5 * MINUTE }, attempt);

/** Milliseconds before a reconnection: 1 s, doubling up to 5 min, ± 25 % so that a fleet spreads. */
export const reconnectDelay = (attempt: number, random: Random): number =>
  backoffMs({ firstMs: SECOND, longestMs: 5 * MINUTE, jitter: 0.25 }, attempt, () => random.next());
