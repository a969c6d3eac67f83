/**
 * Other clients may write while a check reads. What their writes may have caused must not count as a fault of the
 * platform.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import { getPage, type Item } from './lists.ts';
import type { Platform } from './requests.ts';

/** What an observation found that the requirement does not allow. */
export interface Disagreement {
  /** Another client wrote during the observation, or may have. */
  changed: boolean;
  expected: string;
  actual: unknown;
  counterexample?: unknown;
}
/** Undefined where it agrees with the requirement. */
export type Observation = Disagreement | undefined;

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 20;
/** After so many changes in a row, find out whether only the order changes. */
const SUSPICIOUS_CHANGES = 3;
/** A write and its undoing between two reads leave no trace; that hardly ever happens twice. */
const DISAGREEMENTS_TO_FAIL = 2;
/** A cache may answer for the platform, a second late. */
const CACHED_MS = 1100;

/**
 * Repeats an observation until it agrees with the requirement. Fails the check when it disagrees twice although nothing
 * changed. When something changed every time, or the platform gives another order with every read, notes that nothing
 * was decided about `collection`. `decidesOrder`: the requirement is about the order itself.
 */
export async function whileUnchanged(
  t: Platform,
  collection: string,
  observe: () => Promise<Observation>,
  { decidesOrder = false }: { decidesOrder?: boolean } = {},
): Promise<void> {
  const tally = t.state;
  let disagreements = 0;
  const attempts = tally.changing.has(collection) ? 1 : ATTEMPTS;
  for (let attempt = 0; attempt < (disagreements > 0 ? ATTEMPTS : attempts); attempt += 1) {
    const seen = await observe();
    if (seen === undefined) {
      tally.agreed += 1;
      // After a disagreement the fault may be intermittent, so it gets every attempt to show again.
      if (disagreements === 0) return;
      continue;
    }
    if (seen.changed) {
      if (attempt + 1 === SUSPICIOUS_CHANGES && disagreements === 0 && (await isReordered(t, collection))) {
        tally.unordered.add(collection);
        break;
      }
      await sleep(FIRST_PAUSE_MS * 2 ** attempt, undefined, { signal: t.signal });
      continue;
    }
    disagreements += 1;
    if (disagreements < DISAGREEMENTS_TO_FAIL) {
      await sleep(CACHED_MS, undefined, { signal: t.signal });
      continue;
    }
    const { changed: _, ...finding } = seen;
    t.must(!decidesOrder && (await isReordered(t, collection)), finding);
    tally.unordered.add(collection);
    break;
  }
  tally.undecided += 1;
  if (disagreements > 0 && !tally.unordered.has(collection))
    return t.note(`${collection}: a disagreement was seen once and not again`);
  tally.changing.add(collection);
  t.note(
    tally.unordered.has(collection)
      ? reorderedReason(collection)
      : `${collection} changed during every attempt: nothing was decided about it`,
  );
}

/** Blocks a check that observed something, but never while nothing changed. */
export function blockIfUndecided(t: Platform): void {
  const { agreed, undecided, changing, unordered } = t.state;
  if (agreed > 0 || undecided === 0) return;
  if (unordered.size > 0) t.blocked(reorderedReason([...unordered].join(', ')));
  t.blocked(`other clients wrote to ${[...changing].join(', ')} during every read`);
}

const reorderedReason = (collections: string): string =>
  `${collections}: the same items, in another order from one read to the next (platform.list.stable ` +
  'decides about that)';

const ORDER_ROUNDS = 4;

/**
 * Whether a collection keeps its items but lists them in another order each time. Writes of other clients do not cause
 * that.
 */
async function isReordered(t: Platform, collection: string): Promise<boolean> {
  const orders = new Set<string>();
  let contents: string | undefined;
  for (let round = 0; round < ORDER_ROUNDS; round += 1) {
    const read = () => getPage(t, collection, { limit: LIST_LIMITS.limitMaximum });
    for (const { data } of await Promise.all([read(), read()])) {
      const now = sortedContents(data);
      contents ??= now;
      if (now !== contents) return false;
      orders.add(JSON.stringify(data.map(({ id }) => id)));
    }
  }
  return orders.size > 1;
}

/** The items of a page as text, whatever their order. */
export const sortedContents = (items: readonly Item[]): string =>
  items
    .map((item) => JSON.stringify(item))
    .sort()
    .join();
