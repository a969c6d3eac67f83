/** Time for uplinks: a clock, timers that tests can drive, and retry delays. */
import { backoffMs } from '../../../harness/common/waiting.ts';
import { type Clock, steadyClock, systemClock } from '../../common/clock.ts';
import type { Random } from '../../common/random.ts';

export interface Time extends Clock {
  /** Milliseconds on a steady clock, for waits: `now` may be turned at any time. */
  elapsed(): number;
  /** Runs `task` once, after `ms` milliseconds. */
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

/** ISO 8601 of a moment in milliseconds since the epoch; undefined for 0, which means never. */
export const moment = (milliseconds: number): string | undefined =>
  milliseconds > 0 ? new Date(milliseconds).toISOString() : undefined;

/** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
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

/** Delay before retrying a request after a network error: 0.5 to 1 s. */
export const transientDelay = (random: Random): number => 500 + random.next() * 500;

/** Delay after failure number `attempt` (from 0) of a deployment or a whole sync: 15 s, doubling, to 24 h. */
export const failureDelay = (attempt: number): number =>
  backoffMs({ firstMs: 15 * SECOND, longestMs: 24 * HOUR }, attempt);

/**
 * Delay after `attempt` + 1 consecutive syncs that could not reach the platform: 15 s, doubling, to 5 min. They do not
 * count as failures.
 */
export const networkDelay = (attempt: number): number =>
  backoffMs({ firstMs: 15 * SECOND, longestMs: 5 * MINUTE }, attempt);

/**
 * Delay before attempt number `attempt` (from 0) to reach the platform again: 1 s, doubling, to 5 min, ± 25 % so that a
 * fleet spreads.
 */
export const reconnectDelay = (attempt: number, random: Random): number =>
  backoffMs({ firstMs: SECOND, longestMs: 5 * MINUTE, jitter: 0.25 }, attempt, () => random.next());
