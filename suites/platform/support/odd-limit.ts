/** Looks for a limit with which pages are wrong, among all of them. */
import { type Collection, ids, page } from './lists.ts';
import type { Platform } from './platform.ts';
import { differs } from './same-walk.ts';
import { walk } from './walk.ts';

/** Two pages of 100 each. */
const REACH = 200;
const AT_ONCE = 8;
const WORTH_MS = 5000;

/**
 * Any limit may be the one that is wrong. The second page of each is cheap to read, where the collection has one; a limit with which
 * it is not what it has to be is walked with then, and that decides. On a slow platform it's chance that chooses limits, as before.
 */
export async function oddLimit(
  t: Platform,
  found: ReadonlyMap<Collection, number>,
): Promise<{ collection: Collection; limit: number } | undefined> {
  const [most] = [...found].sort(([, left], [, right]) => Math.min(right, REACH) - Math.min(left, REACH));
  if (most === undefined) return undefined;
  const [collection] = most;
  const whole = await walk(t, collection, { limit: REACH / 2, pages: 2 });
  const reference = ids(whole.items);
  const limits = Array.from({ length: Math.min(REACH / 2, reference.length) - 1 }, (_, index) => index + 1);
  const started = performance.now();
  while (limits.length > 0 && performance.now() - started < WORTH_MS) {
    const batch = limits.splice(0, AT_ONCE);
    const wrong = await Promise.all(
      batch.map(async (limit) => {
        const { data } = await page(t, collection, { limit, offset: limit });
        return differs(ids(data), reference.slice(limit, limit * 2)) !== undefined;
      }),
    );
    const limit = batch[wrong.indexOf(true)];
    if (limit !== undefined) return { collection, limit };
  }
  return undefined;
}
