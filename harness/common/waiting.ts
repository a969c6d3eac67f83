/** Waits and polls without counting time in which this process was blocked. */

import { setTimeout as delay } from 'node:timers/promises';

const TICK_MS = 25;

let heldUpMs = 0;
let lastTick = performance.now();
let ticking = false;
let heldUp: { ms: number } | undefined;

const lateness = (now: number): number => Math.max(0, now - lastTick - TICK_MS - 10);

function startTicking(): void {
  if (ticking) return;
  ticking = true;
  lastTick = performance.now();
  setInterval(() => {
    const now = performance.now();
    const late = lateness(now);
    heldUpMs += late;
    lastTick = now;
    if (late === 0) return;
    const held = { ms: late };
    heldUp = held;
    void socketsRead().then(() => {
      if (heldUp === held) heldUp = undefined;
    });
  }, TICK_MS).unref();
}

/** Clock in milliseconds that stops while this process is blocked or the machine sleeps. */
export function runningMs(): number {
  startTicking();
  const now = performance.now();
  return now - heldUpMs - lateness(now);
}

/** Longest delay in milliseconds from the arrival of data until this process reads it. */
export function lateBy(): number {
  startTicking();
  return lateness(performance.now()) + (heldUp?.ms ?? 0);
}

/** Resolves once arrived data is read: two turns of the event loop, because Node runs timers before sockets. */
export const socketsRead = (): Promise<void> =>
  new Promise((resolve) => void setImmediate(() => setImmediate(() => resolve())));

/** Milliseconds; Node makes 1 ms of a timer above 2^31 - 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 30;

/** `silent`: no progress in time; `endless`: the total time is over. */
export type OutOfPatience = 'silent' | 'endless';

export class Patience {
  readonly #withinMs: number;
  #endlessAt: number;
  #silentAt: number;
  #held = 0;

  constructor(withinMs: number, atMostMs = Number.POSITIVE_INFINITY) {
    const now = runningMs();
    this.#withinMs = withinMs;
    this.#silentAt = now + withinMs;
    this.#endlessAt = now + atMostMs;
  }

  renew(): void {
    this.#silentAt = runningMs() + this.#withinMs;
  }

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

  get leftMs(): number {
    return this.#held > 0 ? this.#withinMs : Math.min(this.#silentAt, this.#endlessAt) - runningMs();
  }

  get bound(): OutOfPatience {
    return this.#silentAt <= this.#endlessAt ? 'silent' : 'endless';
  }

  /** The returned function cancels the call of `giveUp`. */
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

export interface PollTime {
  now(): number;
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface PollOptions {
  /** Milliseconds until the last call of `look`; `Infinity` sets no limit. */
  timeoutMs: number;
  /** Milliseconds after the first call of `look`. Default 25. */
  firstPauseMs?: number;
  growth?: number;
  longestPauseMs?: number;
  signal?: AbortSignal | undefined;
  timeoutError?: () => Error;
  time?: PollTime;
}

export class PollTimeout extends Error {
  override name = 'PollTimeout';

  constructor(what: string, timeoutMs: number) {
    super(`timed out after ${timeoutMs / 1000} s waiting for ${what}`);
  }
}

const systemTime: PollTime = {
  now: runningMs,
  // `poll` throws the signal's reason instead of the AbortError.
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => {}),
};

/**
 * Throws `timeoutError` or PollTimeout after `timeoutMs`, or the reason of an abort. `what` completes the message
 * "waiting for …".
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

export interface Backoff {
  firstMs: number;
  longestMs: number;
  /** Fraction by which `random` varies a delay both ways, so that clients do not reconnect together. Default: 0. */
  jitter?: number;
}

/** `attempt` counts from 0; `random` returns numbers from 0 to 1. */
export function backoffMs(backoff: Backoff, attempt: number, random?: () => number): number {
  const { firstMs, longestMs, jitter = 0 } = backoff;
  const doubled = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 40));
  return random === undefined ? doubled : Math.min(longestMs, doubled * (1 - jitter + random() * 2 * jitter));
}

/** True if a retry may succeed. Status 0: no answer; 501 and 505: missing feature. */
export const isPassing = (status: number): boolean =>
  [0, 408, 425, 429].includes(status) || (status >= 500 && ![501, 505].includes(status));

export class Changes {
  readonly #waiting = new Set<() => void>();

  announce(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next `announce`, or after `withinMs`, but after LONGEST_TIMER_MS at the latest. */
  next(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(Math.max(0, withinMs), LONGEST_TIMER_MS));
      this.#waiting.add(wake);
    });
  }
}
