/** Waits that the end of a run cuts short. Not an AbortSignal: adding thousands of listeners to one takes quadratic time. */
import { monotonicMs } from '../schedule/scheduler.ts';

/** All times are milliseconds on the shared clock. */
export class Deadlines {
  readonly #open = new Set<() => void>();
  #ended = false;

  /** Ends all waits, present and future. */
  end(): void {
    this.#ended = true;
    for (const finish of [...this.#open]) finish();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves at `time`, or at the end of the run. */
  until(time: number): Promise<void> {
    return this.at(time).promise;
  }

  /** Like `until`, but `finish` resolves it earlier. */
  at(time: number): { promise: Promise<void>; finish(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = (): void => {
      clearTimeout(timer);
      this.#open.delete(finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.max(time - monotonicMs(), 0));
    this.#open.add(finish);
    if (this.#ended) finish();
    return { promise, finish };
  }

  /** Resolves with false when `work` is not done at `time`, with true when it is or the run has ended. Rejects when `work` does. */
  async reached(time: number, work: Promise<unknown>): Promise<boolean> {
    const wait = this.at(time);
    try {
      return await Promise.race([work.then(() => true), wait.promise.then(() => this.#ended)]);
    } finally {
      wait.finish();
    }
  }
}
