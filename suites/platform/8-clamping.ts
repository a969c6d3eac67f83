/** Section 8: which `limit` and `offset` a list has without parameters, and with values out of range. */
import fc from 'fast-check';
import { LIST_LIMITS } from '../../harness/contract/limits.ts';
import { eachAtOnce } from '../../harness/runner/property.ts';
import { type Platform, section } from './support/check.ts';
import { type Collection, getPage, ids, servedCollections } from './support/lists.ts';
import {
  collectionWith,
  MAXIMUM,
  mustClampLimitTo100,
  mustClampOffsetTo0,
  mustKeepLimitInRange,
} from './support/pages.ts';
import { whileUnchanged } from './support/unchanged.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '8', since: '2026-11-21' });

interface Asked {
  collection: string;
  value: number;
}

interface Values {
  /** Tried first, on every collection. */
  named: readonly number[];
  drawn: fc.Arbitrary<number>;
  /** How many are drawn. */
  count: number;
}

/** Asks for lists with such values of a parameter. */
async function askWith(
  t: Platform,
  parameter: 'limit' | 'offset',
  { named, drawn, count }: Values,
  ask: (asked: Asked) => Promise<void>,
): Promise<void> {
  const collections = await servedCollections(t);
  const examples = collections.flatMap((collection) => named.map((value): [Asked] => [{ collection, value }]));
  await t.property(fc.record({ collection: fc.constantFrom(...collections), value: drawn }), ask, {
    runs: examples.length + count,
    examples,
    describe: ({ collection, value }) => `GET /${collection}?${parameter}=${value}`,
  });
}

export const defaults = requirement({
  id: 'platform.list.defaults',
  clause: '`limit` default … 10 … `offset` default … 0',
  text: 'Without parameters a list has limit 10 and offset 0, and gives the same page as with these values.',
});
check(defaults, { profile: 'core', premises: ['platform.list.in-range'] }, async (t: Platform) => {
  await eachAtOnce(t, await servedCollections(t), async (collection) => {
    const implicit = await getPage(t, collection);
    t.must(implicit.limit === LIST_LIMITS.limitDefault && implicit.offset === LIST_LIMITS.offsetDefault, {
      expected: 'limit 10 and offset 0 from a list without parameters',
      actual: { limit: implicit.limit, offset: implicit.offset },
      counterexample: `GET /${collection}`,
    });
    await mustGiveSamePage(t, collection);
  });
});

async function mustGiveSamePage(t: Platform, collection: Collection): Promise<void> {
  const idsOf = async (query = {}): Promise<string> => ids((await getPage(t, collection, query)).data).join(', ');
  await whileUnchanged(t, collection, async () => {
    const implicit = await idsOf();
    const explicit = await idsOf({ limit: 10, offset: 0 });
    const implicitAgain = await idsOf();
    if (implicit === explicit) return undefined;
    return {
      changed: implicit !== implicitAgain,
      expected: `GET /${collection} to give the page of GET /${collection}?limit=10&offset=0: ${explicit}`,
      actual: implicit,
    };
  });
}

export const limitAbove = requirement({
  id: 'platform.list.clamp.high',
  clause: 'An invalid `limit` is replaced by the nearest valid value (a value above the maximum yields 100).',
  text: 'A limit above 100 takes effect as 100, in the limit of the answer and in the number of items.',
});
check(limitAbove, { profile: 'core', premises: ['platform.list.page-size'] }, async (t: Platform) => {
  const values = { named: [MAXIMUM + 1, 1000], drawn: fc.integer({ min: MAXIMUM + 1 }), count: 15 };
  await askWith(t, 'limit', values, async ({ collection, value }) => {
    await mustClampLimitTo100(t, collection, String(value));
  });
});

check(
  limitAbove,
  { aspect: 'obeyed', needs: ['seed-data'], sharing: 'exclusive', premises: ['platform.list.has-more'] },
  async (t: Platform) => {
    const collection = await collectionWith(t, MAXIMUM + 1);
    if (collection === undefined) t.undecided('no collection has more than 100 items, and the run may create none');
    for (const limit of [MAXIMUM, MAXIMUM + 1, MAXIMUM + 50, 100_000]) {
      const { data, has_more: more } = await mustClampLimitTo100(t, collection, String(limit));
      t.must(data.length === MAXIMUM && more, {
        expected: `the first 100 items of ${collection}, which has more, with limit ${limit}`,
        actual: { items: data.length, has_more: more },
        counterexample: `GET /${collection}?limit=${limit}`,
      });
    }
  },
);

export const limitBelow = requirement({
  id: 'platform.list.clamp.low',
  clause: 'An invalid `limit` is replaced by the nearest valid value',
  text: 'A limit below 1 is not an error: it takes effect as a value from 0 to 100, usually 1.',
});
check(limitBelow, { premises: ['platform.list.page-size'] }, async (t: Platform) => {
  const values = { named: [0, -1], drawn: fc.integer({ max: 0 }), count: 15 };
  await askWith(t, 'limit', values, async ({ collection, value }) => {
    const { limit, data } = await mustKeepLimitInRange(t, collection, String(value));
    t.should(limit === LIST_LIMITS.limitMinimum, {
      expected: `limit 1 with limit=${value}: the nearest valid value on a platform that serves a limit of 1`,
      actual: `limit ${limit} and ${data.length} items from GET /${collection}?limit=${value}`,
    });
  });
});

export const nearest = requirement({
  id: 'platform.list.clamp.nearest',
  since: '2026-11-22',
  clause: 'An invalid `limit` is replaced by the nearest valid value',
  text:
    'A limit below 1 takes effect as 1, which is valid, or as 0 where that is valid too: ' +
    'any other value is farther away.',
});
check(nearest, { premises: [limitBelow.id, 'platform.list.in-range'] }, async (t: Platform) => {
  const values = { named: [-5], drawn: fc.integer({ max: -1 }), count: 5 };
  await askWith(t, 'limit', values, async ({ collection, value }) => {
    const { limit } = await mustKeepLimitInRange(t, collection, String(value));
    t.must(limit <= LIST_LIMITS.limitMinimum, {
      expected: `limit 1, or 0, with limit=${value}: the nearest valid value on a platform that serves a limit of 1`,
      actual: `limit ${limit}`,
      counterexample: `GET /${collection}?limit=${value}`,
    });
  });
});

export const negativeOffset = requirement({
  id: 'platform.list.clamp.offset',
  clause: 'An invalid `offset` is replaced by the nearest valid value (a negative value yields 0).',
  text: 'A negative offset takes effect as 0, in the offset of the answer and in the items of the page.',
});
const fromItems = {
  profile: 'core',
  premises: ['platform.list.in-range'],
  least: { items: 1 },
  orElse: 'a collection with items in it shows where a page begins',
} as const;
check(negativeOffset, fromItems, async (t: Platform) => {
  const values = { named: [-1, -10, -1000], drawn: fc.integer({ max: -1 }), count: 7 };
  await askWith(t, 'offset', values, async ({ collection, value }) => {
    // A page that holds the whole collection shows a has_more that was computed from the negative offset.
    const limit = value <= -MAXIMUM ? MAXIMUM : 5;
    await mustClampOffsetTo0(t, collection, String(value), limit);
  });
});
