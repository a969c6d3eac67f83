/** How long a check waits for one kind of thing, by what the target has shown of it so far in this run. */

/**
 * What a check waits for: an answer, the head of a stream, the next event of a stream, a replay that goes on, the end of a stream, a
 * state that a deployment is to reach, files that are to go with it, the event of a deployment, or an answer to a request that no careful client sends.
 */
export type Wait = 'answer' | 'stream' | 'event' | 'replay' | 'end' | 'state' | 'files' | 'deployed' | 'odd';

interface Experience {
  successes: number;
  slowestMs: number;
  /** It did not come in time once, in a check of a MUST; `lenient`: in any check. */
  timedOut: boolean;
  lenient: boolean;
}

/** After this many successes it is known how quick the target is. */
const KNOWN_AFTER = 10;
/** Times the slowest success: a healthy target that is held up for a moment takes no longer. */
const KNOWN_FACTOR = 50;
const FACTOR_AFTER_TIMEOUT = 5;
/** A target that gets slower on its way keeps its time. */
const FACTOR_WHERE_SLOW = 3;
const SHORTEST_MS = 1000;

/** Of the patience: a deployment is shown as archived before its files are waited for. */
const SHARES: { [wait in Wait]?: number } = { files: 0.5 };

/** What one target has shown of each kind. */
export class Waits {
  readonly #experiences = new Map<Wait, Experience>();

  /**
   * Milliseconds. The patience at first; half of it at least where the target has been much quicker many times. Once a wait was in
   * vain, the next ones of its kind are short, by the slowest success: each slower success makes them longer again. A vain wait in a
   * `lenient` check, one of a SHOULD, shortens no wait of a MUST.
   */
  within(wait: Wait, patience: number, lenient = false): number {
    const patienceMs = (SHARES[wait] ?? 1) * patience;
    const seen = this.#experiences.get(wait);
    if (seen === undefined) return patienceMs;
    const { successes, slowestMs, timedOut } = seen;
    const most = Math.max(patienceMs, FACTOR_WHERE_SLOW * slowestMs);
    if (timedOut || (lenient && seen.lenient))
      return Math.min(most, Math.max(Math.min(SHORTEST_MS, patienceMs / 2), FACTOR_AFTER_TIMEOUT * slowestMs));
    // One deployment may take far longer than another.
    return successes < KNOWN_AFTER || wait === 'deployed'
      ? most
      : Math.min(most, Math.max(patienceMs / 2, KNOWN_FACTOR * slowestMs));
  }

  /** Whether something of that kind did not come in time. */
  wasInVain(wait: Wait): boolean {
    return this.#experiences.get(wait)?.lenient === true;
  }

  /** Milliseconds that the slowest success took; 0 when there was none. */
  slowestMs(wait: Wait): number {
    return this.#experiences.get(wait)?.slowestMs ?? 0;
  }

  succeeded(wait: Wait, ms: number): void {
    const seen = this.#of(wait);
    seen.successes += 1;
    seen.slowestMs = Math.max(seen.slowestMs, Math.ceil(ms));
  }

  timedOut(wait: Wait, lenient = false): void {
    const seen = this.#of(wait);
    seen.lenient = true;
    seen.timedOut ||= !lenient;
  }

  #of(wait: Wait): Experience {
    const seen = this.#experiences.get(wait) ?? { successes: 0, slowestMs: 0, timedOut: false, lenient: false };
    this.#experiences.set(wait, seen);
    return seen;
  }
}
