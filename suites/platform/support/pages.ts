/** How many items each collection has, and which pages a property asks for. */

import fc from 'fast-check';
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import { createConfigType, mayWrite } from './create.ts';
import {
  type Collection,
  describeList,
  getPage,
  type Item,
  ids,
  type Page,
  servedCollections,
  totalCount,
  walk,
} from './lists.ts';
import { ok, type Platform, send } from './requests.ts';
import { type Observation, whileUnchanged } from './unchanged.ts';

export const anyLimit = fc.integer({ min: LIST_LIMITS.limitMinimum, max: LIST_LIMITS.limitMaximum });

export interface PageRequest {
  collection: Collection;
  limit: number;
  offset: number;
}
export const describePage = ({ collection, limit, offset }: PageRequest): string =>
  describeList(collection, { limit, offset });

/** Asks for the pages of `examples` first, and then for so many of `others`. */
export const tryPages = (
  t: Platform,
  { examples, others, count }: { examples: readonly PageRequest[]; others: fc.Arbitrary<PageRequest>; count: number },
  ask: (asked: PageRequest) => Promise<void>,
): Promise<void> =>
  t.property(others, ask, {
    runs: examples.length + count,
    examples: examples.map((page): [unknown] => [page]),
    describe: describePage,
  });

/**
 * Collections with fewer items than this are counted page by page; for larger ones the platform's own count is taken.
 */
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

/**
 * The smallest collection of at least `least` items. Creates config types if there is none; undefined if the run may
 * not.
 */
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

// One page with a `limit` or `offset` out of range, compared with what section 8 makes of it; and integers of any size.

export const MAXIMUM = LIST_LIMITS.limitMaximum;

/** A limit above 100 takes effect as 100. */
export async function mustClampLimitTo100(t: Platform, collection: string, limit: string): Promise<Page> {
  // Another requirement decides about the default of the offset.
  const answer = await getPage(t, collection, { limit, offset: 0 });
  t.must(answer.limit === MAXIMUM && answer.data.length <= MAXIMUM && answer.offset === 0, {
    expected: `limit 100, offset 0 and at most 100 items with limit ${shortened(limit)}`,
    actual: { limit: answer.limit, offset: answer.offset, items: answer.data.length },
    counterexample: describeList(collection, { limit: shortened(limit), offset: 0 }),
  });
  return answer;
}

/** A limit below 1 takes effect as one from 0 to 100. */
export async function mustKeepLimitInRange(t: Platform, collection: string, limit: string): Promise<Page> {
  const answer = await getPage(t, collection, { limit, offset: 0 });
  t.must(answer.limit >= 0 && answer.limit <= MAXIMUM && answer.data.length <= answer.limit, {
    expected: `a limit from 0 to 100 and no more items than that, with limit ${shortened(limit)}`,
    actual: { limit: answer.limit, items: answer.data.length },
    counterexample: describeList(collection, { limit: shortened(limit), offset: 0 }),
  });
  return answer;
}

/** A negative offset takes effect as 0: the page is the first one. */
export async function mustClampOffsetTo0(t: Platform, collection: string, negative: string, limit = 5): Promise<void> {
  const counterexample = describeList(collection, { limit, offset: shortened(negative) });
  const read = (offset: string): Promise<Page> => getPage(t, collection, { limit, offset });
  await whileUnchanged(t, collection, async () => {
    const clamped = await read(negative);
    t.must(clamped.offset === 0 && clamped.limit === limit, {
      expected: `offset 0 and limit ${limit} with offset ${shortened(negative)}`,
      actual: { offset: clamped.offset, limit: clamped.limit },
      counterexample,
    });
    const first = await read('0');
    t.saw('items', first.data.length);
    if (contents(clamped) === contents(first)) return undefined;
    // The list may have changed before the first page was read, or between the two reads.
    const [clampedAgain, firstAgain] = [await read(negative), await read('0')];
    return {
      changed: contents(first) !== contents(firstAgain) || contents(clampedAgain) !== contents(clamped),
      expected: `the first page of ${collection} with offset ${shortened(negative)}: ${contents(first)}`,
      actual: contents(clamped),
      counterexample,
    };
  });
}

const contents = (page: Page): string => `has_more ${page.has_more}, ${ids(page.data).join(', ') || 'no items'}`;

const POWERS = [31, 32, 53, 63, 64, 128].map((exponent) => 2n ** BigInt(exponent));
const DIGITS_400 = 10n ** 399n;

/** Decimal digits, unlike `String(1e21)`. */
export const HUGE: readonly string[] = [...POWERS.flatMap((power) => [power - 1n, power]), DIGITS_400].map(String);
export const HUGE_NEGATIVE: readonly string[] = [...POWERS.flatMap((power) => [-power, -power - 1n]), -DIGITS_400].map(
  String,
);

/** Any integer above 2^31, up to some hundreds of digits. */
export const anyHuge: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HUGE),
  fc.bigInt({ min: 2n ** 31n, max: 2n ** 80n }).map(String),
  fc.bigInt({ min: 2n ** 200n, max: DIGITS_400 }).map(String),
);
export const anyHugeNegative: fc.Arbitrary<string> = anyHuge.map((digits) => `-${digits}`);

/** `-12…789 (400 characters)`: nobody reads hundreds of digits in a report. */
export const shortened = (digits: string): string =>
  digits.length <= 40 ? digits : `${digits.slice(0, 12)}… (${digits.length} characters)`;

// Compares two walks through one collection with different limits.

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

/**
 * Fails the check if a walk with `limit` misses, repeats or reorders items of a walk with limit 100 while nothing
 * changes.
 */
export const mustWalkInSameOrder = (t: Platform, collection: string, plan: WalkPlan): Promise<void> =>
  mustWalk(t, collection, plan, ({ walked, whole }, [first, second]) => {
    const covered = (seen: readonly string[]): readonly string[] => (whole ? seen : seen.slice(0, walked.length));
    return firstDifference(walked, covered(first)) ?? firstDifference(covered(second), covered(first));
  });

/** The same, but items may be in another order than with limit 100: which one they have is not stated. */
export const mustWalkOnce = (t: Platform, collection: string, plan: WalkPlan): Promise<void> =>
  mustWalk(t, collection, plan, ({ walked, whole, offset }, [first]) => {
    const places = walked.map((id) => first.indexOf(id));
    const isSameOrder = places.every((place, at) => place > (places[at - 1] ?? -1));
    if (!isSameOrder) t.observe('the order of a list', 'differs with the limit, or from one read to the next');
    // In another order, a part of a list tells nothing of what is missing from it.
    if (!isSameOrder && !(whole && offset === 0)) return undefined;
    const seen = new Set(walked);
    const due = whole ? first : first.slice(0, (places.at(-1) ?? -1) + 1);
    const missing = due.find((id) => !seen.has(id));
    return missing && `${missing} is missing, which a walk with limit ${REFERENCE_LIMIT} gives`;
  });

type Three = [string[], string[], string[]];

interface Walked {
  /** Ids, in their order. */
  walked: readonly string[];
  /** It came to the end of the list. */
  whole: boolean;
  /** Where it began. */
  offset: number;
}

/** How a walk differs from two with limit 100, one before it and one after it; undefined when it does not. */
type Compare = (walk: Walked, references: readonly [readonly string[], readonly string[]]) => string | undefined;

async function mustWalk(t: Platform, collection: string, plan: WalkPlan, compare: Compare): Promise<void> {
  const { limit, from, items } = plan;
  const inTime = Math.floor(LONGEST_WALK_MS / Math.max(1, t.session.typicalMs('answer')));
  const most = Math.min(MOST_PAGES, Math.max(LEAST_PAGES, inTime));
  const offset = from === 'end' ? Math.max(0, items - limit * most) : 0;
  const pages = from === 'end' ? most + 2 : most;
  const reference = () =>
    walk(t, collection, {
      limit: REFERENCE_LIMIT,
      offset,
      strict: true,
      pages: Math.ceil((pages * limit) / REFERENCE_LIMIT) + 1,
    });
  const observe = async (): Promise<Observation> => {
    const before = await totalCount(t, collection);
    const first = await reference();
    const walked = await walk(t, collection, { limit, offset, pages, strict: true });
    const second = await reference();
    const [walkedIds, firstIds, secondIds] = [walked, first, second].map(({ items: seen }) => ids(seen)) as Three;
    const difference =
      firstRepetition(walkedIds) ??
      firstRepetition(walked.whole ? firstIds : firstIds.slice(0, walkedIds.length)) ??
      compare({ walked: walkedIds, whole: walked.whole, offset }, [firstIds, secondIds]);
    if (walkedIds.length > limit) t.saw('walks over several pages');
    if (difference === undefined) return undefined;
    const after = await totalCount(t, collection);
    return {
      changed:
        before !== after ||
        itemsChanged([first.items, walked.items, second.items], before) ||
        (await itemsReplaced(t, collection, first.items, second.items)),
      expected:
        `a walk through ${collection} with limit ${limit} to give each item once, in the order of a walk ` +
        `with limit ${REFERENCE_LIMIT}`,
      actual: difference,
    };
  };
  await whileUnchanged(t, collection, observe, { decidesOrder: true });
}

/**
 * An item reads differently in two walks, or (where the platform gives no count) the walks show different sets of
 * items.
 */
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
 * As many items were deleted as created, so the count stayed the same: items of the first walk are missing from the
 * second, and can no longer be read. Where no item can be read by its id, their absence from the list is enough.
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

// Looks for a limit whose pages are wrong among all limits from 1 to 100.

const REFERENCE_PAGES = 2;
/** As many items as the reference holds. More would never be compared. */
const REFERENCE_ITEMS = REFERENCE_PAGES * LIST_LIMITS.limitMaximum;
const AT_ONCE = 8;
const LONGEST_SWEEP_MS = 5000;

/**
 * Sweeps every limit from 1 to 100 by reading its second page, and returns the first one whose page differs from the
 * reference. The caller walks the collection with that limit, and that walk gives the verdict. On a slow platform the
 * sweep ends after five seconds, and the property samples limits at random.
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
