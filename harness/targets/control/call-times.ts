/** How long control gets for its calls: what has been late once is not waited for as long again. */
import { ControlLate } from './control.ts';

/** Milliseconds for a call whose like was late the last time; the control's own limit otherwise. */
const AFTER_A_LATE_ONE_MS = 6000;
/** A call that was late so often in a row is not made again. */
const MOST_LATE = 2;

/** Counts late answers by the name of the call. */
export class CallTimes {
  readonly #late = new Map<string, number>();

  /** A signal that ends the call; undefined when the control's own limit is enough. Throws ControlLate for a call that is never answered. */
  limit(name: string): { signal?: AbortSignal; limitMs: number } {
    const late = this.#late.get(name) ?? 0;
    if (late >= MOST_LATE)
      throw new ControlLate(
        `control ${name}: not called, since control did not answer the last ${late} of these in time`,
      );
    if (late === 0) return { limitMs: Number.POSITIVE_INFINITY };
    return { signal: AbortSignal.timeout(AFTER_A_LATE_ONE_MS), limitMs: AFTER_A_LATE_ONE_MS };
  }

  answered(name: string): void {
    this.#late.delete(name);
  }

  late(name: string): void {
    this.#late.set(name, (this.#late.get(name) ?? 0) + 1);
  }
}
