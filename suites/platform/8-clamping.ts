/** Section 8: defaults, and what becomes of a `limit` or `offset` that is out of range. */
import fc from 'fast-check';
import { LIST_LIMITS } from '../../harness/contract/lists.ts';
import { requirement } from '../../harness/runner/define.ts';
import { clampedTo100, lowLimit, MAXIMUM, offsetZero } from './support/clamped.ts';
import { ids, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { undisturbed } from './support/quiet.ts';
import { seeded } from './support/seed.ts';

interface Asked {
  collection: string;
  value: number;
}
const asks = (name: 'limit' | 'offset') => ({
  describe: ({ collection, value }: Asked) => `GET /${collection}?${name}=${value}`,
});
/** Every collection with every one of `values`, before anything random. */
const edges = (collections: readonly string[], values: readonly number[]): [Asked][] =>
  collections.flatMap((collection) => values.map((value): [Asked] => [{ collection, value }]));

const DEFAULTS = requirement({
  id: 'platform.list.defaults',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'Without parameters a list has limit 10 and offset 0, and the page is the one that these ask for.',
});
const defaults = check(DEFAULTS, { profile: 'core' }, async (t: Platform) => {
  for (const collection of await served(t)) {
    const silent = await page(t, collection);
    t.must(silent.limit === LIST_LIMITS.limitDefault && silent.offset === LIST_LIMITS.offsetDefault, {
      expected: 'limit 10 and offset 0 from a list without parameters',
      actual: { limit: silent.limit, offset: silent.offset },
      counterexample: `GET /${collection}`,
    });
    await undisturbed(t, collection, async () => {
      const [implicit, explicit] = [await page(t, collection), await page(t, collection, { limit: 10, offset: 0 })];
      const again = await page(t, collection);
      const same = (left: string[], right: string[]): boolean => left.join() === right.join();
      if (same(ids(implicit.data), ids(explicit.data))) return { agrees: true };
      return {
        agrees: false,
        changed: !same(ids(implicit.data), ids(again.data)),
        finding: {
          expected: `GET /${collection} to give what GET /${collection}?limit=10&offset=0 gives: ${ids(explicit.data).join(', ')}`,
          actual: ids(implicit.data).join(', '),
        },
      };
    });
  }
});

const HIGH = requirement({
  id: 'platform.list.clamp.high',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'A limit above 100 takes effect as 100: in the echo and in the page.',
});
const high = check(HIGH, { profile: 'core' }, async (t: Platform) => {
  const collections = await served(t);
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), value: fc.integer({ min: MAXIMUM + 1 }) }),
    async ({ collection, value }) => void (await clampedTo100(t, collection, String(value))),
    { runs: collections.length * 2 + 15, examples: edges(collections, [MAXIMUM + 1, 1000]), ...asks('limit') },
  );
});

const obeyed = check(HIGH, { aspect: 'obeyed', needs: ['seed-data'], sharing: 'exclusive' }, async (t: Platform) => {
  const collection = await seeded(t, MAXIMUM + 1);
  if (collection === undefined) t.notApplicable('no collection has more than 100 items, and the run may create none');
  for (const limit of [MAXIMUM, MAXIMUM + 1, MAXIMUM + 50, 100_000]) {
    const { data, ...rest } = await clampedTo100(t, collection, String(limit));
    t.must(data.length === MAXIMUM && rest.has_more, {
      expected: `the first 100 items of ${collection}, which has more, with limit ${limit}`,
      actual: { items: data.length, has_more: rest.has_more },
      counterexample: `GET /${collection}?limit=${limit}`,
    });
  }
});

const LOW = requirement({
  id: 'platform.list.clamp.low',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'A limit below 1 is no error: it takes effect as a value from 0 to 100 (1, the nearest that serves anything, is what is usual).',
});
const low = check(LOW, {}, async (t: Platform) => {
  const collections = await served(t);
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), value: fc.integer({ max: 0 }) }),
    async ({ collection, value }) => {
      const { limit, data } = await lowLimit(t, collection, String(value));
      t.should(limit === LIST_LIMITS.limitMinimum, {
        expected: `limit 1 with limit=${value}: the nearest valid value, as far as a limit of 1 is served`,
        actual: `limit ${limit} and ${data.length} items from GET /${collection}?limit=${value}`,
      });
    },
    { runs: collections.length * 2 + 15, examples: edges(collections, [0, -1]), ...asks('limit') },
  );
});

const OFFSET = requirement({
  id: 'platform.list.clamp.offset',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'A negative offset takes effect as 0: in the echo and in the page.',
});
const offset = check(OFFSET, { profile: 'core' }, async (t: Platform) => {
  const collections = await served(t);
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), value: fc.integer({ max: -1 }) }),
    // A page that shows all there is tells of a has_more that is computed from what was asked for.
    async ({ collection, value }) => offsetZero(t, collection, String(value), value <= -MAXIMUM ? MAXIMUM : 5),
    { runs: collections.length * 3 + 7, examples: edges(collections, [-1, -10, -1000]), ...asks('offset') },
  );
});

export const clampingChecks = [defaults, high, obeyed, low, offset];
