/** Whether a collection is listed in another order each time, though it stays the same: not what somebody's writing causes. */
import { type Item, page } from './lists.ts';
import type { Platform } from './platform.ts';

const READS = 4;
const AS_MANY_AS_A_PAGE_HOLDS = 100;

export async function reordered(t: Platform, collection: string): Promise<boolean> {
  const seen = new Set<string>();
  let contents: string | undefined;
  for (let read = 0; read < READS; read += 1) {
    const { data } = await page(t, collection, { limit: AS_MANY_AS_A_PAGE_HOLDS });
    const now = sorted(data);
    contents ??= now;
    if (now !== contents) return false;
    seen.add(JSON.stringify(data.map(({ id }) => id)));
  }
  return seen.size > 1;
}

const sorted = (items: readonly Item[]): string =>
  items
    .map((item) => JSON.stringify(item))
    .sort()
    .join();
