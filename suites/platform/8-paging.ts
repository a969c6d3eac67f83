/** Section 8, rule 3, and section 2.6: pages, and walking from page to page. */
import fc from 'fast-check';
import { requirement } from '../../harness/check/define.ts';
import { LIST_LIMITS } from '../../harness/contract/lists.ts';
import { type Collection, ids, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { undisturbed } from './support/quiet.ts';
import { differs, sameWalk } from './support/same-walk.ts';
import { seeded } from './support/seed.ts';
import { COUNTED, sizes } from './support/sizes.ts';

const anyLimit = fc.integer({ min: LIST_LIMITS.limitMinimum, max: LIST_LIMITS.limitMaximum });
interface Window {
  collection: Collection;
  limit: number;
  offset: number;
}
const describe = ({ collection, limit, offset }: Window): string =>
  `GET /${collection}?limit=${limit}&offset=${offset}`;

/** Three items make a first page, a middle and an end. */
async function withItems(t: Platform): Promise<Map<Collection, number>> {
  const found = await sizes(t, 3);
  if (found.size > 0) return found;
  const collection = await seeded(t, 25);
  if (collection === undefined) t.blocked('no collection has 3 items, and the run may create none');
  return sizes(t, 3);
}

const SIZE = requirement(
  'platform.list.page-size',
  'MUST',
  '2.6',
  'A page holds at most limit items, and exactly limit whenever has_more is true.',
);
const pageSize = check(SIZE, { profile: 'core' }, async (t: Platform) => {
  const collections = await served(t);
  const window = fc.record({
    collection: fc.constantFrom(...collections),
    limit: fc.oneof(anyLimit, fc.integer({ min: -5, max: 250 })),
    offset: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 1000 })),
  });
  await t.property(
    window,
    async (asked) => {
      const {
        data,
        limit,
        has_more: more,
      } = await page(t, asked.collection, {
        limit: asked.limit,
        offset: asked.offset,
      });
      t.must(more ? data.length === limit : data.length <= limit, {
        expected: more ? `${limit} items, as has_more is true` : `at most ${limit} items`,
        actual: `${data.length} items`,
        counterexample: describe(asked),
      });
    },
    {
      runs: collections.length * 3 + 20,
      examples: collections.flatMap((collection) => [1, 2, 100].map((limit) => [{ collection, limit, offset: 0 }])) as [
        Window,
      ][],
      describe,
    },
  );
});

const IN_RANGE = requirement(
  'platform.list.in-range',
  'MUST',
  '8',
  'A limit from 1 to 100 and an offset from 0 on take effect as they are, and the page begins at that offset.',
);
const inRange = check(IN_RANGE, {}, async (t: Platform) => {
  const collections = await served(t);
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), limit: anyLimit, offset: fc.nat({ max: 30 }) }),
    async ({ collection, limit, offset }) => {
      const answer = await page(t, collection, { limit, offset });
      t.must(answer.limit === limit, {
        expected: `limit ${limit}`,
        actual: `limit ${answer.limit}`,
        counterexample: describe({ collection, limit, offset }),
      });
      // An offset beyond the end is for another requirement.
      t.must(answer.offset === offset || answer.data.length === 0, {
        expected: `offset ${offset}`,
        actual: `offset ${answer.offset}`,
        counterexample: describe({ collection, limit, offset }),
      });
    },
    {
      runs: collections.length * 3 + 15,
      examples: collections.flatMap((collection) => [
        [{ collection, limit: 1, offset: 0 }],
        [{ collection, limit: 100, offset: 1 }],
        [{ collection, limit: 99, offset: 2 }],
      ]) as [Window][],
      describe,
    },
  );
});

const HAS_MORE = requirement(
  'platform.list.has-more',
  'MUST',
  '2.6',
  'has_more is true exactly when an item lies beyond the page.',
);
const hasMore = check(
  HAS_MORE,
  { needs: ['seed-data'], sharing: 'exclusive', profile: 'core' },
  async (t: Platform) => {
    const found = await withItems(t);
    const windows = [...found].map(([collection, items]) =>
      fc.record({
        collection: fc.constant(collection),
        limit: anyLimit,
        offset: fc.oneof(fc.nat({ max: items }), fc.integer({ min: Math.max(0, items - 20), max: items + 3 })),
      }),
    );
    // The page that ends with the last item, the one that ends just before it, and the one that reaches past it.
    const examples = [...found].flatMap(([collection, items]) => {
      const full = Math.min(items, LIST_LIMITS.limitMaximum);
      return [
        { collection, limit: full, offset: items - full },
        { collection, limit: 1, offset: items - 1 },
        { collection, limit: 2, offset: items - 2 },
        { collection, limit: 1, offset: items - 2 },
        { collection, limit: full, offset: Math.max(0, items - full - 1) },
        { collection, limit: 3, offset: items - 2 },
        { collection, limit: 1, offset: 0 },
      ].map((window): [unknown] => [window]);
    });
    await t.property(fc.oneof(...windows), (window) => nextPageAgrees(t, window), {
      runs: examples.length + 15,
      examples,
      describe,
    });
  },
);

async function nextPageAgrees(t: Platform, { collection, limit, offset }: Window): Promise<void> {
  const look = async () => {
    const here = await page(t, collection, { limit, offset });
    const next = await page(t, collection, { limit: 1, offset: offset + limit });
    return { more: here.has_more, here: ids(here.data), next: ids(next.data) };
  };
  await undisturbed(t, collection, async () => {
    const [seen, again] = [await look(), await look()];
    if (seen.more === seen.next.length > 0) return { agrees: true };
    return {
      agrees: false,
      changed: JSON.stringify(seen) !== JSON.stringify(again),
      finding: {
        expected: `has_more ${!seen.more}, as ${seen.next.length > 0 ? `${seen.next[0]} lies` : 'no item lies'} beyond this page of ${seen.here.length}`,
        actual: `has_more ${seen.more}`,
        counterexample: describe({ collection, limit, offset }),
      },
    };
  });
}

const WALK = requirement(
  'platform.list.walk',
  'MUST',
  '8',
  'Walking with offset = offset + limit until has_more is false gives every item once, in the same order for any limit.',
);
const walks = check(WALK, { needs: ['seed-data'], sharing: 'exclusive', profile: 'core' }, async (t: Platform) => {
  const found = await withItems(t);
  const collections = [...found.keys()];
  const asked = fc.record({
    collection: fc.constantFrom(...collections),
    limit: anyLimit,
    from: fc.constantFrom('start', 'end'),
  });
  const examples = collections.flatMap((collection) =>
    [1, 3, 10, 100].map((limit) => [{ collection, limit, from: 'end' }]),
  ) as [unknown][];
  await t.property(
    asked,
    ({ collection, limit, from }) => sameWalk(t, collection, { limit, from, items: found.get(collection) ?? 0 }),
    {
      runs: examples.length + 10,
      examples,
      describe: ({ collection, limit, from }: { collection: string; limit: number; from: string }) =>
        `a walk through ${collection} with limit ${limit} ${from === 'end' ? 'to the end' : 'from the start'}`,
    },
  );
});

const STABLE = requirement(
  'platform.list.stable',
  'SHOULD',
  '8',
  'The same page read twice is the same while nothing is written.',
);
const stable = check(STABLE, { needs: ['seed-data'], sharing: 'exclusive' }, async (t: Platform) => {
  for (const [collection] of await withItems(t)) {
    await undisturbed(t, collection, async () => {
      const [first, second] = [
        (await page(t, collection, { limit: 100 })).data,
        (await page(t, collection, { limit: 100 })).data,
      ];
      const difference = differs(ids(second), ids(first));
      if (difference === undefined) return { agrees: true };
      const contents = (items: typeof first): string[] => items.map((item) => JSON.stringify(item)).sort();
      return {
        agrees: false,
        changed: contents(first).join() !== contents(second).join(),
        finding: { expected: `the first page of ${collection} twice`, actual: difference },
      };
    });
  }
});

const BEYOND = requirement(
  'platform.list.beyond-end',
  'MUST',
  '8',
  'An offset past the end gives an empty page whose has_more is false.',
);
const beyondEnd = check(BEYOND, { sharing: 'exclusive' }, async (t: Platform) => {
  const found = await sizes(t, 0);
  const past = [...found].map(([collection, items]) =>
    fc.record({
      collection: fc.constant(collection),
      limit: anyLimit,
      offset: fc.oneof(fc.integer({ min: items, max: items + 5 }), fc.integer({ min: items, max: 2 ** 31 - 1 })),
    }),
  );
  const examples = [...found].flatMap(([collection, items]) =>
    [items, items + 1, items + 1000].map((offset): [unknown] => [{ collection, limit: 10, offset }]),
  );
  await t.property(
    fc.oneof(...past),
    async ({ collection, limit, offset }) => {
      await undisturbed(t, collection, async () => {
        const answer = await page(t, collection, { limit, offset });
        t.should(answer.offset === offset, {
          expected: 'the offset that was asked for, past the end as it is',
          actual: `offset ${answer.offset} in the answer`,
        });
        if (answer.data.length === 0 && !answer.has_more) return { agrees: true };
        const again = await page(t, collection, { limit, offset });
        const now = (await sizes(t, 0)).get(collection) ?? 0;
        return {
          agrees: false,
          changed: now > offset || JSON.stringify(again) !== JSON.stringify(answer),
          finding: {
            expected: `an empty page, has_more false, past the ${found.get(collection) ?? 0} items of ${collection}`,
            actual: { items: ids(answer.data).slice(0, 5), has_more: answer.has_more },
            counterexample: describe({ collection, limit, offset }),
          },
        };
      });
    },
    { runs: examples.length + 10, examples, describe },
  );
  for (const [collection, items] of found) {
    if (items >= COUNTED) t.note(`${collection}: the end was taken from total_count (${items})`);
  }
});

export const pagingChecks = [pageSize, inRange, hasMore, walks, stable, beyondEnd];
