/** Time as the uplinks use it: a clock, and timers that tests can drive by hand. */
import { type Clock, systemClock } from '../../common/clock.ts';

export interface Time extends Clock {
  /** Runs `task` once, `ms` milliseconds from now. */
  after(ms: number, task: () => void): Timer;
  cancel(timer: Timer | undefined): void;
}

/** Whatever `after` returned; its only use is to cancel it. */
export type Timer = object;

export const systemTime: Time = {
  ...systemClock,
  after: (ms, task) => setTimeout(task, ms),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
};

/** Real timers with a clock of one's own, e.g. a skewed one. */
export const timeOf = (clock: Clock): Time => ({ ...systemTime, now: () => clock.now() });

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
