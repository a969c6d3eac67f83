/** How many items each collection has, and which pages a property asks for. */
import fc from 'fast-check';
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { Platform } from './context.ts';
import { createConfigType, mayWrite } from './create.ts';
import { type Collection, describeList, getPage, servedCollections, totalCount } from './lists.ts';

export const anyLimit = fc.integer({ min: LIST_LIMITS.limitMinimum, max: LIST_LIMITS.limitMaximum });

export interface PageRequest {
  collection: Collection;
  limit: number;
  offset: number;
}
export const describePage = ({ collection, limit, offset }: PageRequest): string =>
  describeList(collection, { limit, offset });

/** Collections with fewer items than this are counted page by page; for larger ones the platform's own count is taken. */
export const COUNTED_BY_PAGES = 3000;

/** The collections with at least `least` items, and how many items each has. */
export async function countItems(t: Platform, least = 0): Promise<Map<Collection, number>> {
  const counted = await Promise.all(
    (await servedCollections(t)).map(async (collection) => [collection, await itemCount(t, collection)] as const),
  );
  return new Map(counted.filter(([, items]) => items >= least));
}

/** How many items one collection has. */
export async function itemCount(t: Platform, collection: Collection): Promise<number> {
  const items = await countByPages(t, collection, COUNTED_BY_PAGES);
  return items < COUNTED_BY_PAGES ? items : ((await totalCount(t, collection)) ?? items);
}

/** Counts the items on full pages; stops once there are `enough`. */
async function countByPages(t: Platform, collection: string, enough: number): Promise<number> {
  const limit = LIST_LIMITS.limitMaximum;
  let count = 0;
  let onLastPage: number = limit;
  for (let offset = 0; onLastPage === limit && count < enough; offset += limit) {
    onLastPage = (await getPage(t, collection, { limit, offset })).data.length;
    count += onLastPage;
  }
  return count;
}

/** Three items make a first page, a middle and an end. */
const ENOUGH_TO_PAGE = 3;
const CREATED_TO_PAGE = 25;

/** The collections with enough items to page through. Creates config types if there is none and the run may write. */
export async function collectionsToPage(t: Platform): Promise<Map<Collection, number>> {
  const found = await countItems(t, ENOUGH_TO_PAGE);
  if (found.size > 0) return found;
  const collection = await collectionWith(t, CREATED_TO_PAGE);
  if (collection === undefined) {
    t.blocked(`no collection has ${ENOUGH_TO_PAGE} items, and the run may create none`);
  }
  return countItems(t, ENOUGH_TO_PAGE);
}

const CREATED_AT_ONCE = 8;

/** The smallest collection of at least `least` items. Creates config types if there is none; undefined if the run may not. */
export async function collectionWith(t: Platform, least: number): Promise<Collection | undefined> {
  const collections = await servedCollections(t);
  const counts = await Promise.all(
    collections.map(async (collection) => ({ collection, items: await countUpTo(t, collection, least) })),
  );
  const [found] = counts.filter(({ items }) => items >= least).sort((left, right) => left.items - right.items);
  if (found !== undefined) return found.collection;
  if (!mayWrite(t) || !collections.includes('config_types')) return undefined;
  let missing = least - (counts.find(({ collection }) => collection === 'config_types')?.items ?? 0);
  while (missing > 0) {
    const batch = Math.min(missing, CREATED_AT_ONCE);
    await Promise.all(Array.from({ length: batch }, () => createConfigType(t)));
    missing -= batch;
  }
  return 'config_types';
}

/** The platform's count is only trusted for collections that are too large to be counted again. */
const LARGE = 1000;

async function countUpTo(t: Platform, collection: Collection, least: number): Promise<number> {
  const count = await totalCount(t, collection);
  return count !== undefined && count > LARGE ? count : await countByPages(t, collection, least);
}
