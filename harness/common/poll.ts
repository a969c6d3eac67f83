/** Looks for something again and again until it is there, the time is up or a signal says stop. */
import { setTimeout as delay } from 'node:timers/promises';

/** Time as `poll` sees it; tests inject another. */
export interface PollTime {
  /** Milliseconds on a clock that never goes back. */
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
  now: () => performance.now(),
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
