/**
 * Ways to wait for something outside of this process: as long as it makes progress, and only while this process itself
 * runs; by looking again until something is there; with a back-off between attempts; or for a change.
 */

import { setTimeout as delay } from 'node:timers/promises';

const TICK_MS = 25;
/** Timers of a process that is not held up are hardly later than this. */
const USUAL_LATENESS_MS = 10;

let heldUpMs = 0;
let lastTick = performance.now();
let ticking = false;
/** Of the last time that it was held up: when that ended, and how long it took. */
let heldUp = { until: Number.NEGATIVE_INFINITY, ms: 0 };

/** Milliseconds by which the next tick is later than usual. */
const lateness = (now: number): number => Math.max(0, now - lastTick - TICK_MS - USUAL_LATENESS_MS);

function tick(): void {
  const now = performance.now();
  const late = lateness(now);
  if (late > 0) heldUp = { until: now, ms: late };
  heldUpMs += late;
  lastTick = now;
}

function startTicking(): void {
  if (ticking) return;
  ticking = true;
  lastTick = performance.now();
  setInterval(tick, TICK_MS).unref();
}

/**
 * Milliseconds on a clock that never goes back, and stands still while this process is held up by a busy event loop, a
 * lack of processor time or a suspended machine. What did not come in such a time is nobody else's fault.
 */
export function runningMs(): number {
  startTicking();
  const now = performance.now();
  return now - heldUpMs - lateness(now);
}

/** Milliseconds by which what is seen now may have come before, since this process was held up until now. */
export function lateBy(): number {
  startTicking();
  const now = performance.now();
  // What had come by then is read after the timers.
  return lateness(now) + (now - heldUp.until < 2 * TICK_MS ? heldUp.ms : 0);
}

/** Resolves when the process has read what had come by now: timers run before sockets are read. */
export const socketsRead = (): Promise<void> =>
  new Promise((resolve) => void setImmediate(() => setImmediate(() => resolve())));

/** Node's timers take no longer delay than 2^31 milliseconds. */
const LONGEST_TIMER_MS = 2 ** 30;

/** Which bound of a `Patience` has passed: nothing came for too long, or it was not over for too long. */
export type OutOfPatience = 'silent' | 'endless';

/** A bound on a wait that starts again with each sign of progress. */
export class Patience {
  readonly #withinMs: number;
  #endlessAt: number;
  #silentAt: number;
  #held = 0;

  /** `withinMs` without progress; `atMostMs` in all. */
  constructor(withinMs: number, atMostMs = Number.POSITIVE_INFINITY) {
    const now = runningMs();
    this.#withinMs = withinMs;
    this.#silentAt = now + withinMs;
    this.#endlessAt = now + atMostMs;
  }

  /** To be called when something has come. */
  renew(): void {
    this.#silentAt = runningMs() + this.#withinMs;
  }

  /** Does not count the time until the promise settles, in which this process itself is not ready to go on. */
  async hold(ready: Promise<unknown>): Promise<void> {
    const since = runningMs();
    this.#held += 1;
    try {
      await ready;
    } finally {
      this.#held -= 1;
      this.#silentAt += runningMs() - since;
      this.#endlessAt += runningMs() - since;
    }
  }

  /** Milliseconds that are left if nothing more comes; 0 or less when the time is up. */
  get leftMs(): number {
    return this.#held > 0 ? this.#withinMs : Math.min(this.#silentAt, this.#endlessAt) - runningMs();
  }

  /** Which bound comes first. */
  get bound(): OutOfPatience {
    return this.#silentAt <= this.#endlessAt ? 'silent' : 'endless';
  }

  /** Calls `giveUp` once when the time is up, unless the function that it returns has been called before. */
  watch(giveUp: (why: OutOfPatience) => void): () => void {
    let timer: NodeJS.Timeout;
    let stopped = false;
    const look = async (): Promise<void> => {
      if (this.leftMs <= 0) await socketsRead();
      if (stopped) return;
      if (this.leftMs <= 0) giveUp(this.bound);
      else wait();
    };
    const wait = (): void => {
      timer = setTimeout(() => void look(), Math.min(Math.max(1, Math.ceil(this.leftMs)), LONGEST_TIMER_MS));
    };
    wait();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }
}

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
 * Calls `look` until it yields something other than undefined, at least once, and for the last time when `timeoutMs` is
 * over.
 * `what` names the wait ("the agent to serve /run/agent.sock"). Throws what `look` throws, PollTimeout (or
 * `timeoutError`), or the reason of an aborted signal.
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

/**
 * Like `poll`, but yields undefined when the time is up: for callers to whom a timeout is no error, such as a check
 * that reports it.
 */
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
