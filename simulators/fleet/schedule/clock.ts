/**
 * Clock, schedule and deadlines: an action starts at its intended time, even if earlier actions are slow (no
 * coordinated omission).
 */
import { setImmediate } from 'node:timers/promises';

/** Milliseconds on the clock that all processes of a machine share (CLOCK_MONOTONIC). */
export const monotonicMs = (() => {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return (): number => performance.now() + offset;
})();

/** Times of actions in ascending order, in milliseconds from the start of the schedule. */
export interface Moments {
  next(): number | undefined;
}

interface ScheduleOptions {
  /** Start of the schedule, in milliseconds of the clock `now`. */
  epoch: number;
  streams: readonly Moments[];
  /** Starts an action without blocking. `intended`: milliseconds of the clock `now`. */
  fire(stream: number, intended: number): void;
  signal?: AbortSignal;
  now?(): number;
}

/** Maximum number of actions in one turn of the event loop, so that answers are read between actions. */
const BATCH = 256;

export async function runSchedule(options: ScheduleOptions): Promise<void> {
  const { epoch, streams, fire, signal } = options;
  const now = options.now ?? monotonicMs;
  const queue = new DueQueue(streams);
  while (queue.size > 0 && signal?.aborted !== true) {
    let fired = 0;
    let clock = now();
    while (queue.size > 0 && fired < BATCH && epoch + queue.due <= clock) {
      const intended = epoch + queue.due;
      const stream = queue.take();
      fire(stream, intended);
      fired += 1;
      clock = now();
    }
    if (queue.size === 0) break;
    const wait = epoch + queue.due - now();
    await (wait <= 0 ? setImmediate() : sleep(wait, signal));
  }
}

/** Waits with a third of the overhead of `node:timers/promises`, because every action waits once. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    // Rounds down, because timers take whole milliseconds and never fire early.
    const timer = setTimeout(done, Math.min(Math.floor(ms), 2 ** 31 - 1));
    signal?.addEventListener('abort', done, { once: true });
    if (signal?.aborted === true) done();
  });
}

/** Queue of streams by the time of the next action: a binary heap, which allocates nothing for an action. */
class DueQueue {
  readonly #streams: readonly Moments[];
  readonly #due: Float64Array;
  readonly #heap: Uint32Array;
  size = 0;

  constructor(streams: readonly Moments[]) {
    this.#streams = streams;
    this.#due = new Float64Array(streams.length);
    this.#heap = new Uint32Array(streams.length);
    for (let stream = 0; stream < streams.length; stream += 1) {
      const at = streams[stream]?.next();
      if (at === undefined) continue;
      this.#due[stream] = at;
      this.#heap[this.size] = stream;
      this.size += 1;
    }
    for (let at = (this.size >> 1) - 1; at >= 0; at -= 1) this.#down(at);
  }

  get due(): number {
    return this.#due[this.#heap[0] ?? 0] ?? Number.POSITIVE_INFINITY;
  }

  take(): number {
    const stream = this.#heap[0] ?? 0;
    const at = this.#streams[stream]?.next();
    if (at === undefined) {
      this.size -= 1;
      this.#heap[0] = this.#heap[this.size] ?? 0;
    } else {
      this.#due[stream] = at;
    }
    this.#down(0);
    return stream;
  }

  #before(a: number, b: number): boolean {
    const left = this.#due[a] ?? 0;
    const right = this.#due[b] ?? 0;
    return left < right || (left === right && a < b);
  }

  #down(from: number): void {
    const heap = this.#heap;
    let at = from;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.size && this.#before(heap[child] ?? 0, heap[least] ?? 0)) least = child;
      }
      if (least === at) return;
      const held = heap[at] ?? 0;
      heap[at] = heap[least] ?? 0;
      heap[least] = held;
      at = least;
    }
  }
}

/** Waits for given times, which all finish early when `end` is called; times in milliseconds of the shared clock. */
export class Deadlines {
  readonly #open = new Set<() => void>();
  ended = false;

  end(): void {
    this.ended = true;
    for (const finish of [...this.#open]) finish();
  }

  until(time: number): Promise<void> {
    return this.at(time).promise;
  }

  at(time: number): { promise: Promise<void>; finish(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = (): void => {
      clearTimeout(timer);
      this.#open.delete(finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.max(time - monotonicMs(), 0));
    this.#open.add(finish);
    if (this.ended) finish();
    return { promise, finish };
  }

  /** Resolves with false if `work` is not done by `time`; with true if `work` is done or the run ends. */
  async reached(time: number, work: Promise<unknown>): Promise<boolean> {
    const wait = this.at(time);
    try {
      return await Promise.race([work.then(() => true), wait.promise.then(() => this.ended)]);
    } finally {
      wait.finish();
    }
  }
}
