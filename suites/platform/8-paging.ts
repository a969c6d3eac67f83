/** Section 2.6 and section 8: how much is on a page, and whether there is more. */
import fc from 'fast-check';
import { LIST_LIMITS } from '../../harness/contract/lists.ts';
import { requirement } from '../../harness/runner/define.ts';
import { ids, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { undisturbed } from './support/quiet.ts';
import { anyLimit, describe, type Window, withItems } from './support/windows.ts';

const SIZE = requirement({
  id: 'platform.list.page-size',
  level: 'MUST',
  section: '2.6',
  since: '2026-11-21',
  text: 'A page holds at most limit items, and exactly limit whenever has_more is true.',
});
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

const IN_RANGE = requirement({
  id: 'platform.list.in-range',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'A limit from 1 to 100 and an offset from 0 on take effect as they are, and the page begins at that offset.',
});
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
      if (offset > 0 && answer.data.length > 0) await beginsThere(t, { collection, limit, offset });
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

/** The item at that place on a page from the beginning is the first one here. */
async function beginsThere(t: Platform, { collection, limit, offset }: Window): Promise<void> {
  const look = async () => {
    const here = await page(t, collection, { limit, offset });
    const whole = await page(t, collection, { limit: offset + 1, offset: 0 });
    return { first: ids(here.data)[0], due: ids(whole.data)[offset] };
  };
  await undisturbed(t, collection, async () => {
    const seen = await look();
    if (seen.first === seen.due) return { agrees: true };
    return {
      agrees: false,
      changed: JSON.stringify(seen) !== JSON.stringify(await look()),
      finding: {
        expected: `a page that begins with ${seen.due ?? 'nothing'}, the item at offset ${offset} when it's read from the beginning`,
        actual: `it begins with ${seen.first ?? 'nothing'}`,
        counterexample: describe({ collection, limit, offset }),
      },
    };
  });
}

const HAS_MORE = requirement({
  id: 'platform.list.has-more',
  level: 'MUST',
  section: '2.6',
  since: '2026-11-21',
  text: 'has_more is true exactly when an item lies beyond the page.',
});
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
    const [here, next] = await Promise.all([
      page(t, collection, { limit, offset }),
      page(t, collection, { limit: 1, offset: offset + limit }),
    ]);
    return { more: here.has_more, here: ids(here.data), next: ids(next.data) };
  };
  await undisturbed(t, collection, async () => {
    const seen = await look();
    if (seen.more === seen.next.length > 0) return { agrees: true };
    const again = await look();
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

export const pagingChecks = [pageSize, inRange, hasMore];
