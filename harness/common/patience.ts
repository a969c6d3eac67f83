/** How long to wait for something outside of this process: as long as it makes progress, and only while this process itself runs. */

const TICK_MS = 25;
/** Timers of a process that is not held up are hardly later than this. */
const USUAL_LATENESS_MS = 10;

let heldUpMs = 0;
let lastTick = performance.now();
let ticking = false;

/** Milliseconds by which the next tick is later than usual. */
const lateness = (now: number): number => Math.max(0, now - lastTick - TICK_MS - USUAL_LATENESS_MS);

function tick(): void {
  const now = performance.now();
  heldUpMs += lateness(now);
  lastTick = now;
}

/**
 * Milliseconds on a clock that never goes back, and stands still while this process is held up by a busy event loop, a lack of
 * processor time or a suspended machine. What did not come in such a time is nobody else's fault.
 */
export function runningMs(): number {
  if (!ticking) {
    ticking = true;
    lastTick = performance.now();
    setInterval(tick, TICK_MS).unref();
  }
  const now = performance.now();
  return now - heldUpMs - lateness(now);
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
