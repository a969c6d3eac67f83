/** Sections 2.6 and 8: how many items a page holds, where it begins, and whether there is more. */
import fc from 'fast-check';
import type { Happening } from '../../harness/client/happening.ts';
import { LIST_LIMITS } from '../../harness/contract/limits.ts';
import type { Judge } from '../../harness/runner/rules.ts';
import { type Platform, section } from './support/check.ts';
import { type Collection, getList, getPage, ids, pageFrom, servedCollections } from './support/lists.ts';
import { anyLimit, collectionsToPage, describePage, type PageRequest, tryPages } from './support/pages.ts';
import { refused } from './support/requests.ts';
import { pageIn } from './support/seen.ts';
import { whileUnchanged } from './support/unchanged.ts';

export const { requirement, check, rule, checks } = section({ level: 'MUST', section: '2.6', since: '2026-11-21' });

/** What makes a check decidable that saw no item, or too few. */
const EMPTY = 'a collection with items in it shows more';

const pageSize = requirement({
  id: 'platform.list.page-size',
  clause: 'Items of the page; length is at most `limit`',
  text: 'A page holds at most limit items, and exactly limit items if has_more is true.',
});
/**
 * Only first pages with a limit in range: other requirements decide about what is out of range, and the walk about
 * later pages.
 */
check(pageSize, { profile: 'core', least: { items: 1 }, orElse: EMPTY }, async (t: Platform) => {
  const collections = await servedCollections(t);
  const others = fc.record({ collection: fc.constantFrom(...collections), limit: anyLimit, offset: fc.constant(0) });
  const examples = collections.flatMap((collection) => [1, 2, 100].map((limit) => ({ collection, limit, offset: 0 })));
  await tryPages(t, { examples, others, count: 10 }, async (asked) => {
    const { data, limit, has_more: more } = await getPage(t, asked.collection, { limit: asked.limit, offset: 0 });
    t.saw('items', data.length);
    t.must(more ? data.length === limit : data.length <= limit, {
      expected: more ? `${limit} items, as has_more is true` : `at most ${limit} items`,
      actual: `${data.length} items`,
      counterexample: describePage(asked),
    });
  });
});

rule(pageSize, { premises: [pageSize.id] }, () => (seen, judge: Judge) => {
  const page = pageIn(seen)?.page;
  if (page === undefined || page.data.length === 0) return;
  judge.saw(() => JSON.stringify(page));
  judge.must(page.data.length <= page.limit, {
    expected: `at most ${page.limit} items, which is the limit of the answer`,
    actual: `${page.data.length} items`,
    counterexample: seen.asked.url,
  });
});

export const inRange = requirement({
  id: 'platform.list.in-range',
  section: '8',
  clause: 'Effective page size after clamping. … Effective starting index after clamping.',
  text: 'A limit from 1 to 100 and an offset of 0 or more take effect unchanged, and the page begins at that offset.',
});
check(
  inRange,
  { premises: [pageSize.id], least: { 'pages after the first item': 1 }, orElse: EMPTY },
  async (t: Platform) => {
    const collections = await servedCollections(t);
    const others = fc.record({
      collection: fc.constantFrom(...collections),
      limit: anyLimit,
      offset: fc.nat({ max: 30 }),
    });
    const examples = collections.flatMap((collection) => [
      { collection, limit: 1, offset: 0 },
      { collection, limit: 100, offset: 1 },
      { collection, limit: 99, offset: 2 },
    ]);
    await tryPages(t, { examples, others, count: 15 }, async (asked) => {
      const { collection, limit, offset } = asked;
      const response = await getList(t, collection, { limit, offset });
      // Another requirement decides about an offset beyond the end.
      if (refused(response) && (await isBeyondEnd(t, asked))) return;
      const answer = pageFrom(t, collection, response);
      t.must(answer.limit === limit, {
        expected: `limit ${limit}`,
        actual: `limit ${answer.limit}`,
        counterexample: describePage(asked),
      });
      // So it does about one that is clamped there.
      if (answer.offset < offset && (await isBeyondEnd(t, asked))) return;
      t.must(answer.offset === offset || answer.data.length === 0, {
        expected: `offset ${offset}`,
        actual: `offset ${answer.offset}`,
        counterexample: describePage(asked),
      });
      if (offset === 0 || answer.data.length === 0) return;
      await mustBeginAtOffset(t, asked);
      t.saw('pages after the first item');
    });
  },
);

rule(inRange, { premises: [inRange.id] }, () => (seen, judge: Judge) => {
  const { page } = pageIn(seen) ?? {};
  const [limit, offset] = ['limit', 'offset'].map((name) => integerIn(seen, name));
  if (page === undefined || (limit === undefined && offset === undefined)) return;
  judge.saw(() => JSON.stringify(page));
  const isClamped = limit === undefined || limit < LIST_LIMITS.limitMinimum || limit > LIST_LIMITS.limitMaximum;
  judge.must(isClamped || page.limit === limit, {
    expected: `limit ${limit}`,
    actual: `limit ${page.limit}`,
    counterexample: seen.asked.url,
  });
  // Beyond the end it may be clamped too.
  judge.must(offset === undefined || page.offset <= offset, {
    expected: `offset ${offset}, or one at the end of the list`,
    actual: `offset ${page.offset}`,
    counterexample: seen.asked.url,
  });
});

/** The parameter, where it is given once, as it stands in the path, in digits that a double holds. */
function integerIn(seen: Happening, name: string): number | undefined {
  const path = seen.kind === 'answer' ? seen.path : '';
  const [given, ...others] = path.split(/[?&]/).filter((pair) => pair.startsWith(`${name}=`));
  const [, digits] = /=(\d{1,15})$/.exec(given ?? '') ?? [];
  return others.length === 0 && digits !== undefined ? Number(digits) : undefined;
}

/** Items from the start of the list up to the one at that offset. */
const fromStart = async (t: Platform, { collection, offset }: PageRequest): Promise<string[]> =>
  ids((await getPage(t, collection, { limit: offset + 1, offset: 0 })).data);

const isBeyondEnd = async (t: Platform, asked: PageRequest): Promise<boolean> =>
  (await fromStart(t, asked)).length <= asked.offset;

/** The first item of the page is the one at that offset when the list is read from its beginning. */
async function mustBeginAtOffset(t: Platform, asked: PageRequest): Promise<void> {
  const { collection, limit, offset } = asked;
  const read = async () => {
    const page = await getPage(t, collection, { limit, offset });
    const start = await fromStart(t, asked);
    return { first: ids(page.data)[0], due: start[offset], start };
  };
  /** Another requirement decides about an order that differs from one limit to the next. */
  const isOrderedByLimit = async (start: readonly string[]): Promise<boolean> => {
    const same = ids((await getPage(t, collection, { limit, offset: 0 })).data);
    return same.some((id, place) => start[place] !== undefined && start[place] !== id);
  };
  await whileUnchanged(t, collection, async () => {
    const seen = await read();
    if (seen.first === seen.due || seen.due === undefined) return undefined;
    if (await isOrderedByLimit(seen.start)) return undefined;
    return {
      changed: JSON.stringify(seen) !== JSON.stringify(await read()),
      expected: `a page that begins with ${seen.due}, the item at offset ${offset} of the list read from its beginning`,
      actual: `it begins with ${seen.first ?? 'nothing'}`,
      counterexample: describePage(asked),
    };
  });
}

const hasMore = requirement({
  id: 'platform.list.has-more',
  clause: 'True when more items exist beyond this page.',
  text: 'has_more is true exactly if an item lies beyond the page.',
});
check(
  hasMore,
  {
    needs: ['seed-data'],
    sharing: 'exclusive',
    profile: 'core',
    premises: [inRange.id, 'platform.list.past-end'],
    least: { 'pages before others': 1, 'last pages': 1 },
  },
  async (t: Platform) => {
    const counts = await collectionsToPage(t);
    const pages = [...counts].map(([collection, items]) =>
      fc.record({
        collection: fc.constant(collection),
        limit: anyLimit,
        offset: fc.oneof(fc.nat({ max: items }), fc.integer({ min: Math.max(0, items - 20), max: items + 3 })),
      }),
    );
    const examples = [...counts].flatMap(([collection, items]) => pagesAtTheEnd(collection, items));
    await tryPages(t, { examples, others: fc.oneof(...pages), count: 15 }, (page) => mustAgreeWithNextPage(t, page));
  },
);

/** Pages that end with the last item, just before it, and beyond it; and the first page. */
function pagesAtTheEnd(collection: Collection, items: number): PageRequest[] {
  const full = Math.min(items, LIST_LIMITS.limitMaximum);
  return [
    { collection, limit: full, offset: items - full },
    { collection, limit: 1, offset: items - 1 },
    { collection, limit: 2, offset: items - 2 },
    { collection, limit: 1, offset: items - 2 },
    { collection, limit: full, offset: Math.max(0, items - full - 1) },
    { collection, limit: 3, offset: items - 2 },
    { collection, limit: 1, offset: 0 },
  ];
}

async function mustAgreeWithNextPage(t: Platform, asked: PageRequest): Promise<void> {
  const { collection, limit, offset } = asked;
  const read = async () => {
    const [page, next] = await Promise.all([
      getPage(t, collection, { limit, offset }),
      getPage(t, collection, { limit: 1, offset: offset + limit }),
    ]);
    // An offset past the end may be clamped: then the page is no next one.
    const isNext = next.offset === offset + limit;
    return { more: page.has_more, page: ids(page.data), next: isNext ? ids(next.data) : [] };
  };
  await whileUnchanged(t, collection, async () => {
    const seen = await read();
    if (seen.more === seen.next.length > 0) {
      t.saw(seen.more ? 'pages before others' : 'last pages');
      return undefined;
    }
    const beyond = seen.next.length > 0 ? `${seen.next[0]} lies` : 'no item lies';
    return {
      changed: JSON.stringify(seen) !== JSON.stringify(await read()),
      expected: `has_more ${!seen.more}, as ${beyond} beyond this page of ${seen.page.length}`,
      actual: `has_more ${seen.more}`,
      counterexample: describePage(asked),
    };
  });
}
