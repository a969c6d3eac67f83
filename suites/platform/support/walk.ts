/** Walks: page after page by rule 3 of section 8, without trusting what a page says more than needed to go on. */
import type { HttpClient } from '../../../harness/client/http.ts';
import { type Item, page } from './lists.ts';
import type { Platform } from './platform.ts';

export interface WalkOptions {
  limit: number;
  /** Where to begin. Default 0. */
  offset?: number;
  /** Ends a walk that has not come to the end by then. Default 100. */
  pages?: number;
  http?: HttpClient;
}

export interface Walk {
  items: Item[];
  /** False when the walk ran out of pages before it came to the end. */
  whole: boolean;
}

/** `offset = offset + limit` until `has_more` is false. An empty page that promises more fails the check. */
export async function walk(t: Platform, collection: string, options: WalkOptions): Promise<Walk> {
  const { limit, pages = 100, http = t.http } = options;
  const items: Item[] = [];
  let offset = options.offset ?? 0;
  for (let turned = 0; turned < pages; turned += 1) {
    const { data, has_more: more } = await page(t, collection, { limit, offset }, http);
    items.push(...data);
    if (!more) return { items, whole: true };
    t.must(data.length > 0, {
      expected: `items on every page of ${collection} up to the one whose has_more is false`,
      actual: `an empty page with has_more true at offset ${offset}, limit ${limit}`,
      counterexample: `GET /${collection}?limit=${limit}&offset=${offset}`,
    });
    offset += limit;
  }
  return { items, whole: false };
}

/** How many items a collection has, by its pages; stops once there are `enough`. */
export async function size(t: Platform, collection: string, enough = Number.POSITIVE_INFINITY): Promise<number> {
  let count = 0;
  let last = 100;
  for (let offset = 0; last === 100 && count < enough; offset += 100) {
    last = (await page(t, collection, { limit: 100, offset })).data.length;
    count += last;
  }
  return count;
}
