/** Retries of deployments whose files the disk did not take. The delay of each deployment doubles, to 24 hours at most. */
import { backoffMs } from '../../../harness/common/waiting.ts';

const LONGEST_MS = 24 * 60 * 60 * 1_000;

interface Waiting {
  attempts: number;
  timer: NodeJS.Timeout;
}

/** The retries of one robot. */
export class Retries {
  readonly #firstMs: number;
  readonly #waiting = new Map<string, Waiting>();

  /** `firstMs`: the first delay, milliseconds. */
  constructor(firstMs: number) {
    this.#firstMs = firstMs;
  }

  /** Runs `attempt` after the next delay of `id`. */
  later(id: string, attempt: () => void): void {
    const attempts = this.#waiting.get(id)?.attempts ?? 0;
    this.cancel(id);
    const delay = backoffMs({ firstMs: this.#firstMs, longestMs: LONGEST_MS }, attempts);
    this.#waiting.set(id, { attempts: attempts + 1, timer: setTimeout(attempt, delay).unref() });
  }

  cancel(id: string): void {
    clearTimeout(this.#waiting.get(id)?.timer);
    this.#waiting.delete(id);
  }

  cancelAll(): void {
    for (const id of [...this.#waiting.keys()]) this.cancel(id);
  }
}
