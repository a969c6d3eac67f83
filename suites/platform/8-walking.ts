/** Section 8, rule 3: walking from page to page, to the end and past it. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { type Collection, ids, page } from './support/lists.ts';
import { oddLimit } from './support/odd-limit.ts';
import { check, type Platform } from './support/platform.ts';
import { undisturbed } from './support/quiet.ts';
import { differs, sameWalk } from './support/same-walk.ts';
import { COUNTED, sizes } from './support/sizes.ts';
import { anyLimit, describe, withItems } from './support/windows.ts';

interface Asked {
  collection: Collection;
  limit: number;
  from: string;
}

const WALK = requirement({
  id: 'platform.list.walk',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'Walking with offset = offset + limit until has_more is false gives every item once, in the same order for any limit.',
});
const walks = check(WALK, { needs: ['seed-data'], sharing: 'exclusive', profile: 'core' }, async (t: Platform) => {
  const found = await withItems(t);
  const collections = [...found.keys()];
  const asked = fc.record({
    collection: fc.constantFrom(...collections),
    limit: anyLimit,
    from: fc.constantFrom('start', 'end'),
  });
  const plan = ({ collection, limit, from }: Asked) =>
    sameWalk(t, collection, { limit, from, items: found.get(collection) ?? 0 });
  // Side by side, as each waits for one page after another; what fails is walked again below, for the report to show it alone.
  const failed = new Map<Asked, unknown>();
  await Promise.all(
    collections.map(async (collection) => {
      for (const limit of [1, 3, 10, 100]) {
        const walk = { collection, limit, from: 'end' };
        await plan(walk).catch((error: unknown) => failed.set(walk, error));
      }
    }),
  );
  const odd = await oddLimit(t, found);
  const suspects = [...failed.keys(), ...(odd === undefined ? [] : [{ ...odd, from: 'start' }])];
  const examples = suspects.map((walk): [unknown] => [walk]);
  await t.property(asked, plan, {
    runs: examples.length + 10,
    examples,
    describe: ({ collection, limit, from }: { collection: string; limit: number; from: string }) =>
      `a walk through ${collection} with limit ${limit} ${from === 'end' ? 'to the end' : 'from the start'}`,
  });
  for (const error of failed.values()) throw error;
});

const STABLE = requirement({
  id: 'platform.list.stable',
  level: 'SHOULD',
  section: '8',
  since: '2026-11-21',
  text: 'The same page read twice is the same while nothing is written.',
});
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

const BEYOND = requirement({
  id: 'platform.list.beyond-end',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'An offset past the end gives an empty page whose has_more is false.',
});
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

export const walkingChecks = [walks, stable, beyondEnd];
