/** How many items each collection has: the truth that counts, ends and walks are compared with. */
import { type Collection, served, totalCount } from './lists.ts';
import type { Platform } from './platform.ts';
import { size } from './walk.ts';

/** Above it, turning every page costs more than it shows, and the platform's own count is taken. */
export const COUNTED = 3000;

/** The collections with at least `least` items. */
export async function sizes(t: Platform, least: number): Promise<Map<Collection, number>> {
  const counted = await Promise.all(
    (await served(t)).map(async (collection) => [collection, await sizeOf(t, collection)] as const),
  );
  return new Map(counted.filter(([, items]) => items >= least));
}

export async function sizeOf(t: Platform, collection: Collection): Promise<number> {
  const items = await size(t, collection, COUNTED);
  return items < COUNTED ? items : ((await totalCount(t, collection)) ?? items);
}
