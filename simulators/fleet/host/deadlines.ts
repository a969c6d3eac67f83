/** Waiting that the end of a run cuts short. Not an AbortSignal: adding thousands of listeners to one takes quadratic time. */
import { monotonicMs } from '../schedule/scheduler.ts';

export class Waits {
  readonly #open = new Set<() => void>();
  #ended = false;

  /** The run is over: nothing waits any more. */
  end(): void {
    this.#ended = true;
    for (const finish of [...this.#open]) finish();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves at that moment of the shared clock, or at the end of the run. */
  until(moment: number): Promise<void> {
    return this.for(moment).promise;
  }

  /** As `until`, with a way to resolve it earlier. */
  for(moment: number): { promise: Promise<void>; finish(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = (): void => {
      clearTimeout(timer);
      this.#open.delete(finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.max(moment - monotonicMs(), 0));
    this.#open.add(finish);
    if (this.#ended) finish();
    return { promise, finish };
  }

  /**
   * Waits for `work` until that moment or the end of the run. Resolves with whether it need not be waited for any longer: it is
   * done, or the run is over. Rejects when `work` does.
   */
  async atMost(moment: number, work: Promise<unknown>): Promise<boolean> {
    const wait = this.for(moment);
    try {
      return await Promise.race([work.then(() => true), wait.promise.then(() => this.#ended)]);
    } finally {
      wait.finish();
    }
  }
}
