/** Section 8, rule 3: whether a walk from page to page shows every item once, and ends at the end. */
import fc from 'fast-check';
import { type Platform, section } from './support/check.ts';
import { type Collection, describeList, getPage, ids } from './support/lists.ts';
import {
  anyLimit,
  COUNTED_BY_PAGES,
  collectionsToPage,
  countItems,
  describePage,
  firstDifference,
  mustWalkInSameOrder,
  type PageRequest,
  sweepLimits,
  tryPages,
} from './support/pages.ts';
import { type Observation, sortedContents, whileUnchanged } from './support/unchanged.ts';

export const { requirement, check, checks } = section({ section: '8', since: '2026-11-21' });

interface Walk {
  collection: Collection;
  limit: number;
  from: 'start' | 'end';
}
const describeWalk = ({ collection, limit, from }: Walk): string =>
  `a walk through ${collection} with limit ${limit} ${from === 'end' ? 'to the end' : 'from the start'}`;

const walkOnce = requirement({
  id: 'platform.list.walk',
  level: 'MUST',
  clause: 'Page n+1 is requested with the same `limit` and `offset = offset + limit`, until `has_more` is false.',
  text:
    'Walking with offset = offset + limit until has_more is false gives every item once, ' +
    'in the same order for any limit.',
});
check(
  walkOnce,
  { needs: ['seed-data'], sharing: 'exclusive', profile: 'core', premises: ['platform.list.has-more'] },
  async (t: Platform) => {
    const counts = await collectionsToPage(t);
    const mustWalk = ({ collection, limit, from }: Walk) =>
      mustWalkInSameOrder(t, collection, { limit, from, items: counts.get(collection) ?? 0 });
    const suspect = await sweepLimits(t, counts);
    const examples = [
      ...walksToTheEnd([...counts.keys()]),
      ...(suspect === undefined ? [] : [{ ...suspect, from: 'start' as const }]),
    ];
    const anyWalk = fc.record({
      collection: fc.constantFrom(...counts.keys()),
      limit: anyLimit,
      from: fc.constantFrom('start' as const, 'end' as const),
    });
    await t.property(anyWalk, mustWalk, {
      runs: examples.length + 10,
      examples: examples.map((walk): [unknown] => [walk]),
      describe: describeWalk,
    });
  },
);

const walksToTheEnd = (collections: readonly Collection[]): Walk[] =>
  collections.flatMap((collection) => [1, 3, 10, 100].map((limit): Walk => ({ collection, limit, from: 'end' })));

const stable = requirement({
  id: 'platform.list.stable',
  level: 'SHOULD',
  text: 'The same page read twice is the same while nothing is written.',
});
check(stable, { needs: ['seed-data'], sharing: 'exclusive' }, async (t: Platform) => {
  for (const [collection] of await collectionsToPage(t)) {
    const readTwice = async (): Promise<Observation> => {
      const { data: first } = await getPage(t, collection, { limit: 100 });
      const { data: second } = await getPage(t, collection, { limit: 100 });
      const difference = firstDifference(ids(second), ids(first));
      if (difference === undefined) return undefined;
      return {
        changed: sortedContents(first) !== sortedContents(second),
        expected: `the first page of ${collection} twice`,
        actual: difference,
        counterexample: describeList(collection, { limit: 100 }),
      };
    };
    await whileUnchanged(t, collection, readTwice, { decidesOrder: true });
  }
});

const beyondEnd = requirement({
  id: 'platform.list.beyond-end',
  level: 'MUST',
  clause: 'True when more items exist beyond this page.',
  text: 'An offset past the end gives an empty page whose has_more is false.',
});
check(beyondEnd, { sharing: 'exclusive', premises: ['platform.list.in-range'] }, async (t: Platform) => {
  const counts = await countItems(t);
  const pages = [...counts].map(([collection, items]) =>
    fc.record({
      collection: fc.constant(collection),
      limit: anyLimit,
      offset: fc.oneof(fc.integer({ min: items, max: items + 5 }), fc.integer({ min: items, max: 2 ** 31 - 1 })),
    }),
  );
  const examples = [...counts].flatMap(([collection, items]) =>
    [items, items + 1, items + 1000].map((offset) => ({ collection, limit: 10, offset })),
  );
  await tryPages(t, { examples, others: fc.oneof(...pages), count: 10 }, (page) =>
    mustBeEmptyPage(t, page, counts.get(page.collection) ?? 0),
  );
  for (const [collection, items] of counts) {
    if (items >= COUNTED_BY_PAGES) t.note(`${collection}: the end was taken from total_count (${items})`);
  }
});

async function mustBeEmptyPage(t: Platform, asked: PageRequest, items: number): Promise<void> {
  const { collection, limit, offset } = asked;
  await whileUnchanged(t, collection, async () => {
    const page = await getPage(t, collection, { limit, offset });
    t.should(page.offset === offset, {
      expected: 'the offset that was asked for, although it is past the end',
      actual: `offset ${page.offset} in the answer`,
    });
    if (page.data.length === 0 && !page.has_more) return undefined;
    const again = await getPage(t, collection, { limit, offset });
    const itemsNow = (await countItems(t)).get(collection) ?? 0;
    return {
      changed: itemsNow > offset || JSON.stringify(again) !== JSON.stringify(page),
      expected: `an empty page, has_more false, past the ${items} items of ${collection}`,
      actual: { items: ids(page.data).slice(0, 5), has_more: page.has_more },
      counterexample: describePage(asked),
    };
  });
}
