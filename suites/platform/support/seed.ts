/** Enough items to page through: found when the platform has them, created when the run may. */
import { createConfigType, mayWrite } from './create.ts';
import { type Collection, served, totalCount } from './lists.ts';
import type { Platform } from './platform.ts';
import { size } from './walk.ts';

const AT_ONCE = 8;

/** The smallest collection of at least `least` items; config types are created when there is none. */
export async function seeded(t: Platform, least: number): Promise<Collection | undefined> {
  const collections = await served(t);
  const sizes = await Promise.all(
    collections.map(async (collection) => ({ collection, items: await atLeast(t, collection, least) })),
  );
  const [found] = sizes.filter(({ items }) => items >= least).sort((left, right) => left.items - right.items);
  if (found !== undefined) return found.collection;
  if (!mayWrite(t) || !collections.includes('config_types')) return undefined;
  let missing = least - (sizes.find(({ collection }) => collection === 'config_types')?.items ?? 0);
  while (missing > 0) {
    const batch = Math.min(missing, AT_ONCE);
    await Promise.all(Array.from({ length: batch }, () => createConfigType(t)));
    missing -= batch;
  }
  return 'config_types';
}

/** How many items there are; by counting pages when the platform's own count can't be right. */
async function atLeast(t: Platform, collection: Collection, least: number): Promise<number> {
  const count = await totalCount(t, collection);
  return count !== undefined && count > 1000 ? count : await size(t, collection, least);
}
