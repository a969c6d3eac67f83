/** Ways to wait: look again until something is there, back off between attempts, or wait for a change. */
import { setTimeout as delay } from 'node:timers/promises';
import { runningMs } from './patience.ts';

/** Time as `poll` sees it; tests inject another. */
export interface PollTime {
  /** Milliseconds on a clock that never goes back. The usual one stands still while this process is held up. */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

/** How long and how often to look. */
export interface PollOptions {
  /** Milliseconds until the last look; `Infinity` for no limit. */
  timeoutMs: number;
  /** Pause after the first look, milliseconds. Default 25. */
  firstPauseMs?: number;
  /** Factor by which each pause is longer than the one before it. Default 1: all pauses are equal. */
  growth?: number;
  /** Longest pause, milliseconds. Default: no limit. */
  longestPauseMs?: number;
  /** Ends the wait: `poll` throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** The error to throw when the time is up. Default: a PollTimeout that names the wait. */
  timeoutError?: () => Error;
  time?: PollTime;
}

/** What was waited for did not happen in time. */
export class PollTimeout extends Error {
  override name = 'PollTimeout';

  constructor(what: string, timeoutMs: number) {
    super(`timed out after ${timeoutMs / 1000} s waiting for ${what}`);
  }
}

const systemTime: PollTime = {
  now: runningMs,
  // The caller looks at the signal itself, because it throws the reason and not an AbortError around it.
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => {}),
};

/**
 * Calls `look` until it yields something other than undefined, at least once, and for the last time when `timeoutMs` is over.
 * `what` names the wait ("the agent to serve /run/agent.sock"). Throws what `look` throws, PollTimeout (or `timeoutError`), or the
 * reason of an aborted signal.
 */
export async function poll<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  options: PollOptions,
): Promise<T> {
  const { timeoutMs, growth = 1, longestPauseMs = Number.POSITIVE_INFINITY, signal, time = systemTime } = options;
  const deadline = time.now() + timeoutMs;
  let pause = options.firstPauseMs ?? 25;
  for (;;) {
    const last = time.now() >= deadline;
    const found = await look();
    if (found !== undefined) return found;
    signal?.throwIfAborted();
    if (last) throw options.timeoutError?.() ?? new PollTimeout(what, timeoutMs);
    await time.sleep(Math.max(0, Math.min(pause, deadline - time.now())), signal);
    signal?.throwIfAborted();
    pause = Math.min(pause * growth, longestPauseMs);
  }
}

/** Like `poll`, but yields undefined when the time is up: for callers to whom a timeout is no error, such as a check that reports it. */
export async function pollWithin<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  options: Omit<PollOptions, 'timeoutError'>,
): Promise<T | undefined> {
  try {
    return await poll(what, look, options);
  } catch (error) {
    if (error instanceof PollTimeout) return undefined;
    throw error;
  }
}

/** The limits of a back-off, a delay that doubles with each failure. */
export interface Backoff {
  /** Delay before attempt 0, milliseconds. */
  firstMs: number;
  /** Upper limit of every delay, milliseconds, jitter included. */
  longestMs: number;
  /** Share by which a delay may differ in either direction, so that many clients spread. Default 0; needs `random`. */
  jitter?: number;
}

/** 2^40 times a millisecond are 35 years; larger powers would only overflow. */
const LARGEST_EXPONENT = 40;

/** Milliseconds before attempt number `attempt` (from 0). `random` is uniform in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random?: () => number): number {
  const { firstMs, longestMs, jitter = 0 } = backoff;
  const doubled = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, LARGEST_EXPONENT));
  return random === undefined ? doubled : Math.min(longestMs, doubled * (1 - jitter + random() * 2 * jitter));
}

/** Lets several waiters look again whenever something has changed. */
export class Changes {
  readonly #waiting = new Set<() => void>();

  /** Wakes everyone who waits. */
  announce(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next change, or after `withinMs` milliseconds. */
  next(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(0, withinMs));
      this.#waiting.add(wake);
    });
  }
}
