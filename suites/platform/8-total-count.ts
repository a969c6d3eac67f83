/** Section 8, rule 4: whether `total_count` is there exactly when it is asked for, and is right. */
import fc from 'fast-check';
import { eachAtOnce } from '../../harness/runner/property.ts';
import type { Judge } from '../../harness/runner/rules.ts';
import { type Platform, section } from './support/check.ts';
import {
  type Collection,
  describeList,
  getList,
  getPage,
  type Page,
  pageFrom,
  servedCollections,
} from './support/lists.ts';
import { COUNTED_BY_PAGES, countItems, itemCount, type PageRequest } from './support/pages.ts';
import { ok, refused } from './support/requests.ts';
import { pageIn } from './support/seen.ts';
import { whileUnchanged } from './support/unchanged.ts';

export const { requirement, check, rule, checks } = section({ section: '8', since: '2026-11-21' });

const totalCount = requirement({
  id: 'platform.list.total-count',
  level: 'MUST',
  clause: '`total_count` is computed only when `expand=total_count` is given',
  text:
    'total_count is absent unless expand=total_count is given; ' +
    'then it is the exact number of items, for any limit and offset.',
});
check(totalCount, { aspect: 'omitted', profile: 'core' }, async (t: Platform) => {
  await eachAtOnce(t, await servedCollections(t), async (collection) => {
    for (const query of [{}, { limit: 1 }, { offset: 1_000_000 }, { limit: 100 }]) {
      const response = await getList(t, collection, query);
      // Another requirement decides about an offset beyond the end.
      if ('offset' in query && refused(response)) continue;
      const page = pageFrom(t, collection, response);
      mustOmitCount(t, page, 'no total_count without expand=total_count', describeList(collection, query));
    }
    await mustOmitCountWithOtherExpansion(t, collection);
  });
});

rule(totalCount, { premises: [`${totalCount.id}.omitted`] }, () => (seen, judge: Judge) => {
  const { page, query } = pageIn(seen) ?? {};
  // A name that only begins so may be taken for it.
  if (page === undefined || query?.getAll('expand').some((name) => name.includes('total_count'))) return;
  judge.saw(() => JSON.stringify(page));
  judge.must(!('total_count' in page), {
    expected: 'no total_count without expand=total_count',
    actual: `total_count ${JSON.stringify(page.total_count)}`,
    counterexample: seen.asked.url,
  });
});

function mustOmitCount(t: Platform, page: Page, expected: string, counterexample: string): void {
  t.must(!('total_count' in page), {
    expected,
    actual: `total_count ${JSON.stringify(page.total_count)}`,
    counterexample,
  });
}

/** Names that published platforms expand. Any name that a platform knows would do. */
const EXPANSIONS: Partial<Record<Collection, string>> = { devices: 'current_release', deployments: 'release' };

async function mustOmitCountWithOtherExpansion(t: Platform, collection: Collection): Promise<void> {
  const expand = EXPANSIONS[collection] ?? 'config_type';
  const response = await getList(t, collection, { limit: 1, expand });
  // The specification does not show what else a list expands, so a refusal means nothing.
  if (!ok(response)) return;
  const page = pageFrom(t, collection, response);
  const expected = `no total_count with expand=${expand}, only with expand=total_count`;
  mustOmitCount(t, page, expected, describeList(collection, { limit: 1, expand }));
}

check(
  totalCount,
  {
    sharing: 'exclusive',
    profile: 'core',
    premises: ['platform.list.past-end'],
    least: { 'counted items': 1 },
    orElse: 'a collection with items in it shows whether they are counted',
  },
  async (t: Platform) => {
    const counts = await countItems(t);
    for (const items of counts.values()) t.saw('counted items', items);
    const anyPage = fc.record({
      collection: fc.constantFrom(...counts.keys()),
      limit: fc.integer({ min: 1, max: 100 }),
      offset: fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 5000 })),
    });
    const examples = [...counts].flatMap(([collection, items]): PageRequest[] => [
      { collection, limit: 10, offset: 0 },
      { collection, limit: 1, offset: 0 },
      { collection, limit: 1, offset: 1 },
      { collection, limit: 10, offset: items + 5 },
    ]);
    await t.property(anyPage, (page) => mustCountItems(t, page, counts), {
      runs: examples.length + 10,
      examples: examples.map((page): [unknown] => [page]),
      describe: describeCounted,
    });
    for (const [collection, items] of counts) {
      if (items >= COUNTED_BY_PAGES) await mustEndAtCount(t, collection, items);
    }
  },
);

const describeCounted = ({ collection, limit, offset }: PageRequest): string =>
  describeList(collection, { limit, offset, expand: 'total_count' });

/** `counts` holds the number of items on the pages of each collection; it is updated when other clients write. */
async function mustCountItems(t: Platform, asked: PageRequest, counts: Map<Collection, number>): Promise<void> {
  const { collection, limit, offset } = asked;
  const counterexample = describeCounted(asked);
  await whileUnchanged(t, collection, async () => {
    const { total_count: total } = await getPage(t, collection, { limit, offset, expand: 'total_count' });
    t.must(typeof total === 'number' && total >= 0, {
      expected: 'an integer of 0 or more in total_count with expand=total_count',
      actual: total,
      counterexample,
    });
    const items = counts.get(collection) ?? 0;
    if (total === items) return undefined;
    const now = await itemCount(t, collection);
    counts.set(collection, now);
    return {
      changed: now !== items,
      expected: `total_count ${items}, the number of items on all pages of ${collection}`,
      actual: `total_count ${total}`,
      counterexample,
    };
  });
}

/** A collection that is too large to read every page: its last item has to be where the count says. */
async function mustEndAtCount(t: Platform, collection: Collection, items: number): Promise<void> {
  await whileUnchanged(t, collection, async () => {
    const last = await getPage(t, collection, { limit: 10, offset: items - 1, expand: 'total_count' });
    if (last.data.length === 1) return undefined;
    return {
      changed: last.total_count !== items,
      expected: `one item at offset ${items - 1} of ${collection}, whose total_count is ${items}`,
      actual: `${last.data.length} items`,
    };
  });
}
