/** Other people may write while a check reads; what only they can have caused must not be taken for a fault. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from './platform.ts';

export interface Disagreement {
  expected: string;
  actual: unknown;
  counterexample?: unknown;
}
/** `changed`: somebody wrote while this was seen, or may have. */
export type Observation = { agrees: true } | { agrees: false; changed: boolean; finding: Disagreement };

const ATTEMPTS = 6;
/** A write and its opposite leave no trace behind, hardly ever twice. */
const ENOUGH = 2;

/**
 * Observes until what is seen agrees with the requirement; fails the check when it twice disagrees while nothing was written.
 * `false` when something was written every time: undecided, and noted.
 */
export async function undisturbed(t: Platform, what: string, observe: () => Promise<Observation>): Promise<boolean> {
  let disagreements = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const seen = await observe();
    if (seen.agrees) {
      // One disagreement before may be a fault that comes and goes: it gets every attempt to show again.
      if (disagreements === 0) return true;
      continue;
    }
    if (seen.changed) {
      await sleep(50 * 2 ** attempt, undefined, { signal: t.signal });
      continue;
    }
    disagreements += 1;
    t.must(disagreements < ENOUGH, seen.finding);
  }
  t.note(
    disagreements === 0
      ? `${what} changed every time it was read: not decided there`
      : `${what}: a disagreement was seen once and not again`,
  );
  return false;
}
