/** Looks for a limit whose pages are wrong among all limits from 1 to 100. */
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { Platform } from './context.ts';
import { type Collection, getPage, ids, walk } from './lists.ts';
import { firstDifference } from './same-walk.ts';

const REFERENCE_PAGES = 2;
/** As many items as the reference holds. More would never be compared. */
const REFERENCE_ITEMS = REFERENCE_PAGES * LIST_LIMITS.limitMaximum;
const AT_ONCE = 8;
const LONGEST_SWEEP_MS = 5000;

/**
 * Sweeps every limit from 1 to 100 by reading its second page, and returns the first one whose page differs from the reference. The
 * caller walks the collection with that limit, and that walk gives the verdict. On a slow platform the sweep ends after five
 * seconds, and the property samples limits at random.
 */
export async function sweepLimits(
  t: Platform,
  counts: ReadonlyMap<Collection, number>,
): Promise<{ collection: Collection; limit: number } | undefined> {
  const compared = (items: number): number => Math.min(items, REFERENCE_ITEMS);
  const [largest] = [...counts].sort(([, left], [, right]) => compared(right) - compared(left));
  if (largest === undefined) return undefined;
  const [collection] = largest;
  const { items } = await walk(t, collection, { limit: LIST_LIMITS.limitMaximum, pages: REFERENCE_PAGES });
  const reference = ids(items);
  const highest = Math.min(LIST_LIMITS.limitMaximum, reference.length) - 1;
  const limits = Array.from({ length: highest }, (_, index) => index + 1);
  const started = performance.now();
  while (limits.length > 0 && performance.now() - started < LONGEST_SWEEP_MS) {
    const batch = limits.splice(0, AT_ONCE);
    const differs = await Promise.all(
      batch.map(async (limit) => {
        const { data } = await getPage(t, collection, { limit, offset: limit });
        return firstDifference(ids(data), reference.slice(limit, limit * 2)) !== undefined;
      }),
    );
    const limit = batch[differs.indexOf(true)];
    if (limit !== undefined) return { collection, limit };
  }
  return undefined;
}
