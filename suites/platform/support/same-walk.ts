/** Two walks through one collection, with different limits, have to tell the same story. */
import { type Item, ids, totalCount } from './lists.ts';
import type { Platform } from './platform.ts';
import { undisturbed } from './quiet.ts';
import { ok, send } from './send.ts';
import { walk } from './walk.ts';

/** A walk turns no more pages than that: with small limits only one end of a large collection is walked. */
const PAGES = 30;
const REFERENCE_LIMIT = 100;

export interface WalkPlan {
  limit: number;
  from: string;
  /** How many items the collection has. */
  items: number;
}

/** Fails the check when a walk with `limit` misses, repeats or reorders what a walk with limit 100 shows, and nobody wrote. */
export async function sameWalk(t: Platform, collection: string, plan: WalkPlan): Promise<void> {
  const { limit, from, items } = plan;
  const offset = from === 'end' ? Math.max(0, items - limit * PAGES) : 0;
  const pages = from === 'end' ? PAGES + 2 : PAGES;
  const reference = () =>
    walk(t, collection, { limit: REFERENCE_LIMIT, offset, pages: Math.ceil((pages * limit) / REFERENCE_LIMIT) + 1 });
  await undisturbed(t, collection, async () => {
    const before = await totalCount(t, collection);
    const first = await reference();
    const walked = await walk(t, collection, { limit, offset, pages });
    const second = await reference();
    const cut = (seen: Item[]): string[] => ids(walked.whole ? seen : seen.slice(0, walked.items.length));
    const difference =
      repeated(ids(walked.items)) ??
      repeated(cut(first.items)) ??
      differs(ids(walked.items), cut(first.items)) ??
      differs(cut(second.items), cut(first.items));
    if (difference === undefined) return { agrees: true };
    const after = await totalCount(t, collection);
    return {
      agrees: false,
      changed:
        before !== after ||
        rewritten([first.items, walked.items, second.items], before) ||
        (await replaced(t, collection, first.items, second.items)),
      finding: {
        expected: `a walk through ${collection} with limit ${limit} to give each item once, in the order of a walk with limit ${REFERENCE_LIMIT}`,
        actual: difference,
      },
    };
  });
}

/** Somebody wrote: an item reads differently from one sighting to the next, or (when nothing counts them) another set of items is there. */
function rewritten(walks: readonly Item[][], count: number | undefined): boolean {
  const sightings = new Map<string, string>();
  for (const item of walks.flat()) {
    const text = JSON.stringify(item);
    if ((sightings.get(item.id) ?? text) !== text) return true;
    sightings.set(item.id, text);
  }
  return count === undefined && walks.some((items) => new Set(ids(items)).size !== sightings.size);
}

const LOOKED_AT = 5;

/**
 * As many were deleted as created, so that the count is what it was: of two walks alike the second lacks items of the first, and
 * these can't be read any more. Where nothing can be read by its id, that they are missing has to do.
 */
async function replaced(t: Platform, collection: string, first: Item[], second: Item[]): Promise<boolean> {
  const still = new Set(ids(second));
  const there = first.find(({ id }) => still.has(id));
  const missing = first.filter(({ id }) => !still.has(id)).slice(0, LOOKED_AT);
  if (missing.length === 0) return false;
  const readable = async ({ id }: Item): Promise<boolean> =>
    ok(await send(t, { path: `/${collection}/${encodeURIComponent(id)}` }));
  if (there === undefined || !(await readable(there))) return true;
  const read = await Promise.all(missing.map(readable));
  return read.includes(false);
}

function repeated(walked: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, id] of walked.entries()) {
    if (seen.has(id)) return `${id} came at place ${walked.indexOf(id) + 1} and again at place ${index + 1}`;
    seen.add(id);
  }
  return undefined;
}

/** The first place at which two orders part, in words. */
export function differs(actual: readonly string[], expected: readonly string[]): string | undefined {
  const length = Math.max(actual.length, expected.length);
  for (let place = 0; place < length; place += 1) {
    if (actual[place] === expected[place]) continue;
    return `place ${place + 1} is ${actual[place] ?? 'missing'} instead of ${expected[place] ?? 'the end'}`;
  }
  return undefined;
}
