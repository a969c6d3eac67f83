/** Other people may write while a check reads; what only they can have caused must not be taken for a fault. */
import { setTimeout as sleep } from 'node:timers/promises';
import { reordered } from './order.ts';
import type { Platform } from './platform.ts';

export interface Disagreement {
  expected: string;
  actual: unknown;
  counterexample?: unknown;
}
/** `changed`: somebody wrote while this was seen, or may have. */
export type Observation = { agrees: true } | { agrees: false; changed: boolean; finding: Disagreement };

const ATTEMPTS = 6;
/** After so many changes in a row it is asked whether anything but the order changes. */
const SUSPICIOUS = 3;
/** A write and its opposite leave no trace behind, hardly ever twice. */
const ENOUGH = 2;

interface Tally {
  /** What was found to change all the time: it gets one look from then on, or a busy platform would cost minutes. */
  changing: Set<string>;
  /** Those of them whose items stay the same, in another order each time. */
  unordered: Set<string>;
  agreed: number;
  undecided: number;
}
/** By check: its `note` is its own, whatever copies of the context are made. */
const tallies = new WeakMap<Platform['note'], Tally>();

function tallyOf(t: Pick<Platform, 'note'>): Tally {
  const tally = tallies.get(t.note) ?? { changing: new Set(), unordered: new Set(), agreed: 0, undecided: 0 };
  tallies.set(t.note, tally);
  return tally;
}

/** Ends a check as blocked when it observed, and never once undisturbed: nothing was decided by it. */
export function settled(t: Pick<Platform, 'note' | 'blocked'>): void {
  const { agreed, undecided, changing, unordered } = tallyOf(t);
  if (agreed > 0 || undecided === 0) return;
  if (unordered.size > 0) t.blocked(shuffled([...unordered].join(', ')));
  t.blocked(`others wrote to ${[...changing].join(', ')} whenever it was read`);
}

const shuffled = (what: string): string =>
  `${what}: the same items, in another order from one read to the next (platform.list.walk and .stable judge that)`;

/**
 * Observes until what is seen agrees with the requirement; fails the check when it twice disagrees while nothing was written.
 * When something was written every time it is left undecided, and noted.
 */
export async function undisturbed(t: Platform, what: string, observe: () => Promise<Observation>): Promise<void> {
  const tally = tallyOf(t);
  let disagreements = 0;
  const attempts = tally.changing.has(what) ? 1 : ATTEMPTS;
  for (let attempt = 0; attempt < (disagreements > 0 ? ATTEMPTS : attempts); attempt += 1) {
    const seen = await observe();
    if (seen.agrees) {
      tally.agreed += 1;
      // One disagreement before may be a fault that comes and goes: it gets every attempt to show again.
      if (disagreements === 0) return;
      continue;
    }
    if (seen.changed) {
      if (attempt + 1 === SUSPICIOUS && disagreements === 0 && (await reordered(t, what))) {
        tally.unordered.add(what);
        break;
      }
      await sleep(20 * 2 ** attempt, undefined, { signal: t.signal });
      continue;
    }
    disagreements += 1;
    t.must(disagreements < ENOUGH, seen.finding);
  }
  tally.undecided += 1;
  if (disagreements > 0) return t.note(`${what}: a disagreement was seen once and not again`);
  tally.changing.add(what);
  if (tally.unordered.has(what)) return t.note(shuffled(what));
  t.note(`${what} changes all the time: not decided there whenever it did`);
}
