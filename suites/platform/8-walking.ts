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
  mustWalkOnce,
  type PageRequest,
  sweepLimits,
  tryPages,
} from './support/pages.ts';
import { type Observation, sortedContents, whileUnchanged } from './support/unchanged.ts';

export const { requirement, check, checks } = section({ section: '8', since: '2026-11-21' });

/** The set that says no more of lists than the specification does. */
const SETTLED = '2026-11-25';

interface Walk {
  collection: Collection;
  limit: number;
  from: 'start' | 'end';
}
const describeWalk = ({ collection, limit, from }: Walk): string =>
  `a walk through ${collection} with limit ${limit} ${from === 'end' ? 'to the end' : 'from the start'}`;

/** Up to that set, whose words went beyond those of the specification. */
const walkInOrder = requirement({
  id: 'platform.list.walk',
  level: 'MUST',
  until: SETTLED,
  clause: 'Page n+1 is requested with the same `limit` and `offset = offset + limit`, until `has_more` is false.',
  text:
    'Walking with offset = offset + limit until has_more is false gives every item once, ' +
    'in the same order for any limit.',
});

const walkOnce = requirement({
  id: 'platform.list.walk-once',
  level: 'MUST',
  since: SETTLED,
  clause: 'Page n+1 is requested with the same `limit` and `offset = offset + limit`, until `has_more` is false.',
  text: 'Walking with the same limit and offset = offset + limit until has_more is false gives every item once.',
});

const WALKING = {
  needs: ['seed-data'],
  sharing: 'exclusive',
  profile: 'core',
  premises: ['platform.list.has-more'],
  least: { 'walks over several pages': 1 },
} as const;
check(walkInOrder, WALKING, (t: Platform) => tryWalks(t, mustWalkInSameOrder));
check(walkOnce, WALKING, (t: Platform) => tryWalks(t, mustWalkOnce));

async function tryWalks(t: Platform, mustWalk: typeof mustWalkOnce): Promise<void> {
  const counts = await collectionsToPage(t);
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
  await t.property(
    anyWalk,
    ({ collection, limit, from }) => mustWalk(t, collection, { limit, from, items: counts.get(collection) ?? 0 }),
    {
      runs: examples.length + 10,
      examples: examples.map((walk): [unknown] => [walk]),
      describe: describeWalk,
    },
  );
}

const walksToTheEnd = (collections: readonly Collection[]): Walk[] =>
  collections.flatMap((collection) => [1, 3, 10, 100].map((limit): Walk => ({ collection, limit, from: 'end' })));

const stable = requirement({
  id: 'platform.list.stable',
  level: 'SHOULD',
  text: 'The same page read twice is the same while nothing is written.',
});
check(stable, { needs: ['seed-data'], sharing: 'exclusive', least: { items: 2 } }, async (t: Platform) => {
  for (const [collection] of await collectionsToPage(t)) {
    const readTwice = async (): Promise<Observation> => {
      const { data: first } = await getPage(t, collection, { limit: 100 });
      const { data: second } = await getPage(t, collection, { limit: 100 });
      t.saw('items', first.length);
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

/** Up to that set, whose words went beyond those of the specification. */
const beyondEnd = requirement({
  id: 'platform.list.beyond-end',
  level: 'MUST',
  until: SETTLED,
  clause: 'True when more items exist beyond this page.',
  text: 'An offset past the end gives an empty page whose has_more is false.',
});
check(beyondEnd, { sharing: 'exclusive', premises: ['platform.list.in-range'] }, tryPastEnd);

const pastEnd = requirement({
  id: 'platform.list.past-end',
  level: 'MUST',
  since: SETTLED,
  clause: 'Effective starting index after clamping. … True when more items exist beyond this page.',
  text:
    'An offset past the end is no error, and has_more is false: the page is empty, ' +
    'or the one that begins at the offset in the answer, to which it was clamped.',
});
check(pastEnd, { sharing: 'exclusive', premises: ['platform.list.in-range'] }, tryPastEnd);

async function tryPastEnd(t: Platform): Promise<void> {
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
    mustEndList(t, page, counts.get(page.collection) ?? 0),
  );
  for (const [collection, items] of counts) {
    if (items >= COUNTED_BY_PAGES) t.note(`${collection}: the end was taken from total_count (${items})`);
  }
}

/** Whether an offset past the end is out of range, so that it is clamped, is not stated. */
async function mustEndList(t: Platform, asked: PageRequest, items: number): Promise<void> {
  const { collection, limit, offset } = asked;
  await whileUnchanged(t, collection, async () => {
    const page = await getPage(t, collection, { limit, offset });
    t.observe('the offset of a page past the end', page.offset === offset ? 'as asked' : 'clamped');
    const due =
      page.offset >= Math.min(items, offset)
        ? []
        : ids((await getPage(t, collection, { limit, offset: page.offset })).data);
    if (JSON.stringify(ids(page.data)) === JSON.stringify(due) && !page.has_more) return undefined;
    const again = await getPage(t, collection, { limit, offset });
    const itemsNow = (await countItems(t)).get(collection) ?? 0;
    return {
      changed: itemsNow > offset || JSON.stringify(again) !== JSON.stringify(page),
      expected:
        due.length === 0
          ? `an empty page, has_more false, past the ${items} items of ${collection}`
          : `the page at offset ${page.offset}, which the answer names, and has_more false`,
      actual: { items: ids(page.data).slice(0, 5), has_more: page.has_more },
      counterexample: describePage(asked),
    };
  });
}
