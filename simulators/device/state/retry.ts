/** Tries again what the disk would not take, ever less often: 15 s, doubling, to 24 hours, for each deployment. */
import { backoffMs } from '../../../harness/common/backoff.ts';

const LONGEST_MS = 24 * 60 * 60 * 1_000;

interface Waiting {
  attempts: number;
  timer: NodeJS.Timeout;
}

export class Retries {
  readonly #baseMs: number;
  readonly #waiting = new Map<string, Waiting>();

  constructor(baseMs: number) {
    this.#baseMs = baseMs;
  }

  /** Runs `attempt` after the next delay for `id`; it asks again when it fails. */
  later(id: string, attempt: () => void): void {
    const attempts = this.#waiting.get(id)?.attempts ?? 0;
    this.cancel(id);
    const delay = backoffMs({ firstMs: this.#baseMs, longestMs: LONGEST_MS }, attempts);
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
