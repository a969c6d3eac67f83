/** Time as the uplinks use it: a clock, timers that tests can drive by hand, and the delays before another attempt. */
import { backoffMs } from '../../../harness/common/waiting.ts';
import { type Clock, steadyClock, systemClock } from '../../common/clock.ts';
import type { Random } from '../../common/random.ts';

export interface Time extends Clock {
  /** Milliseconds on a clock that never jumps, for waits: `now` may be turned at any time. */
  elapsed(): number;
  /** Runs `task` once, `ms` milliseconds from now. */
  after(ms: number, task: () => void): Timer;
  cancel(timer: Timer | undefined): void;
}

/** A timer of `after`, to cancel it. */
export type Timer = object;

export const systemTime: Time = {
  ...systemClock,
  elapsed: () => steadyClock.now(),
  after: (ms, task) => setTimeout(task, ms),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
};

/** ISO 8601 of a moment in milliseconds since the epoch; undefined for 0, which stands for never. */
export const moment = (milliseconds: number): string | undefined =>
  milliseconds > 0 ? new Date(milliseconds).toISOString() : undefined;

/** Resolves after `ms`; rejects with the signal's reason when it is aborted before. */
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

/** Between two syncs that nothing asked for, milliseconds. */
export const POLL_INTERVAL = 12 * HOUR;

const FAILURE = { firstMs: 15 * SECOND, longestMs: 24 * HOUR };
const NETWORK = { firstMs: 15 * SECOND, longestMs: 5 * MINUTE };
const RECONNECT = { firstMs: SECOND, longestMs: 5 * MINUTE, jitter: 0.25 };

/** Before a request that met a network error is sent again: 0.5 to 1 s. */
export const transientDelay = (random: Random): number => 500 + random.next() * 500;

/** After failure number `attempt` (from 0) of a deployment, or of a sync as a whole: 15 s, doubling, to 24 h. */
export const failureDelay = (attempt: number): number => backoffMs(FAILURE, attempt);

/**
 * After `attempt` + 1 syncs in a row that could not reach the platform: 15 s, doubling, to 5 min. They count as no
 * failure.
 */
export const networkDelay = (attempt: number): number => backoffMs(NETWORK, attempt);

/**
 * Before attempt number `attempt` (from 0) to reach the platform again: 1 s, doubling, to 5 min, ± 25 % so that a fleet
 * spreads.
 */
export const reconnectDelay = (attempt: number, random: Random): number =>
  backoffMs(RECONNECT, attempt, () => random.next());
