/** Which part of which collection is asked for. */
import fc from 'fast-check';
import { LIST_LIMITS } from '../../../harness/contract/lists.ts';
import type { Collection } from './lists.ts';
import type { Platform } from './platform.ts';
import { seeded } from './seed.ts';
import { sizes } from './sizes.ts';

export const anyLimit = fc.integer({ min: LIST_LIMITS.limitMinimum, max: LIST_LIMITS.limitMaximum });
export interface Window {
  collection: Collection;
  limit: number;
  offset: number;
}
export const describe = ({ collection, limit, offset }: Window): string =>
  `GET /${collection}?limit=${limit}&offset=${offset}`;

/** Three items make a first page, a middle and an end. */
export async function withItems(t: Platform): Promise<Map<Collection, number>> {
  const found = await sizes(t, 3);
  if (found.size > 0) return found;
  const collection = await seeded(t, 25);
  if (collection === undefined) t.blocked('no collection has 3 items, and the run may create none');
  return sizes(t, 3);
}
