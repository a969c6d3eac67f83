/** Compares two walks through one collection with different limits. */
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { Platform } from './context.ts';
import { type Item, ids, totalCount, walk } from './lists.ts';
import { paceOf } from './pace.ts';
import { ok, send } from './requests.ts';
import { type Observation, whileUnchanged } from './unchanged.ts';

/** A walk reads at most so many pages: with a small limit it covers only one end of a large collection. */
const MOST_PAGES = 30;
const LEAST_PAGES = 5;
/** And on a slow platform no more than it answers in this time, milliseconds. */
const LONGEST_WALK_MS = 2000;
const REFERENCE_LIMIT = LIST_LIMITS.limitMaximum;

export interface WalkPlan {
  limit: number;
  from: 'start' | 'end';
  /** How many items the collection has. */
  items: number;
}

/** Fails the check if a walk with `limit` misses, repeats or reorders items of a walk with limit 100 while nothing changes. */
export async function mustWalkInSameOrder(t: Platform, collection: string, plan: WalkPlan): Promise<void> {
  const { limit, from, items } = plan;
  const inTime = paceOf(t.http.endpoint).requestsWithin(LONGEST_WALK_MS);
  const most = Math.min(MOST_PAGES, Math.max(LEAST_PAGES, inTime));
  const offset = from === 'end' ? Math.max(0, items - limit * most) : 0;
  const pages = from === 'end' ? most + 2 : most;
  const reference = () =>
    walk(t, collection, {
      ...{ limit: REFERENCE_LIMIT, offset, strict: true },
      pages: Math.ceil((pages * limit) / REFERENCE_LIMIT) + 1,
    });
  const observe = async (): Promise<Observation> => {
    const before = await totalCount(t, collection);
    const first = await reference();
    const walked = await walk(t, collection, { limit, offset, pages, strict: true });
    const second = await reference();
    const covered = (seen: Item[]): string[] => ids(walked.whole ? seen : seen.slice(0, walked.items.length));
    const difference =
      firstRepetition(ids(walked.items)) ??
      firstRepetition(covered(first.items)) ??
      firstDifference(ids(walked.items), covered(first.items)) ??
      firstDifference(covered(second.items), covered(first.items));
    if (difference === undefined) return { agrees: true };
    const after = await totalCount(t, collection);
    return {
      agrees: false,
      changed:
        before !== after ||
        itemsChanged([first.items, walked.items, second.items], before) ||
        (await itemsReplaced(t, collection, first.items, second.items)),
      finding: {
        expected: `a walk through ${collection} with limit ${limit} to give each item once, in the order of a walk with limit ${REFERENCE_LIMIT}`,
        actual: difference,
      },
    };
  };
  await whileUnchanged(t, collection, observe, { decidesOrder: true });
}

/** An item reads differently in two walks, or (where the platform gives no count) the walks show different sets of items. */
function itemsChanged(walks: readonly Item[][], count: number | undefined): boolean {
  const seen = new Map<string, string>();
  for (const item of walks.flat()) {
    const text = JSON.stringify(item);
    if ((seen.get(item.id) ?? text) !== text) return true;
    seen.set(item.id, text);
  }
  return count === undefined && walks.some((items) => new Set(ids(items)).size !== seen.size);
}

const MISSING_ITEMS_READ = 5;

/**
 * As many items were deleted as created, so the count stayed the same: items of the first walk are missing from the second, and can
 * no longer be read. Where no item can be read by its id, their absence from the list is enough.
 */
async function itemsReplaced(t: Platform, collection: string, first: Item[], second: Item[]): Promise<boolean> {
  const still = new Set(ids(second));
  const kept = first.find(({ id }) => still.has(id));
  const missing = first.filter(({ id }) => !still.has(id)).slice(0, MISSING_ITEMS_READ);
  if (missing.length === 0) return false;
  const readable = async ({ id }: Item): Promise<boolean> =>
    ok(await send(t, { path: `/${collection}/${encodeURIComponent(id)}` }));
  if (kept === undefined || !(await readable(kept))) return true;
  const read = await Promise.all(missing.map(readable));
  return read.includes(false);
}

function firstRepetition(walked: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, id] of walked.entries()) {
    if (seen.has(id)) return `${id} came at place ${walked.indexOf(id) + 1} and again at place ${index + 1}`;
    seen.add(id);
  }
  return undefined;
}

/** The first place at which two orders differ, as a sentence. */
export function firstDifference(actual: readonly string[], expected: readonly string[]): string | undefined {
  const length = Math.max(actual.length, expected.length);
  for (let place = 0; place < length; place += 1) {
    if (actual[place] === expected[place]) continue;
    return `place ${place + 1} is ${actual[place] ?? 'missing'} instead of ${expected[place] ?? 'the end'}`;
  }
  return undefined;
}
