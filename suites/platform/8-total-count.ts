/** Section 8, rule 4: the total count. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { asPage, type Collection, getList, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { undisturbed } from './support/quiet.ts';
import { ok } from './support/send.ts';
import { COUNTED, sizeOf, sizes } from './support/sizes.ts';

const TOTAL = requirement({
  id: 'platform.list.total-count',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'total_count is absent unless expand=total_count is given; then it is the exact number of items, whatever limit and offset.',
});
const omitted = check(TOTAL, { aspect: 'omitted', profile: 'core' }, async (t: Platform) => {
  for (const collection of await served(t)) {
    for (const query of [{}, { limit: 1 }, { offset: 1_000_000 }, { limit: 100 }]) {
      const answer = await page(t, collection, query);
      t.must(!('total_count' in answer), {
        expected: 'no total_count without expand=total_count',
        actual: `total_count ${JSON.stringify((answer as { total_count?: unknown }).total_count)}`,
        counterexample: { collection, ...query },
      });
    }
    await otherExpansion(t, collection);
  }
});

/** Names that published platforms expand: any other that a platform knows would do as well. */
const EXPANSIONS: Partial<Record<Collection, string>> = { devices: 'current_release', deployments: 'release' };

async function otherExpansion(t: Platform, collection: Collection): Promise<void> {
  const expand = EXPANSIONS[collection] ?? 'config_type';
  const response = await getList(t, collection, { limit: 1, expand });
  // What lists expand, beside the count, is not shown: a refusal says nothing.
  if (!ok(response)) return;
  const answer = asPage(t, collection, response);
  t.must(!('total_count' in answer), {
    expected: `no total_count with expand=${expand}, but with expand=total_count alone`,
    actual: `total_count ${JSON.stringify(answer.total_count)}`,
    counterexample: `GET /${collection}?limit=1&expand=${expand}`,
  });
}

interface Asked {
  collection: Collection;
  limit: number;
  offset: number;
}
const exact = check(TOTAL, { sharing: 'exclusive', profile: 'core' }, async (t: Platform) => {
  const found = await sizes(t, 0);
  const asked = fc.record({
    collection: fc.constantFrom(...found.keys()),
    limit: fc.integer({ min: 1, max: 100 }),
    offset: fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 5000 })),
  });
  const examples = [...found].flatMap(([collection, items]) =>
    [
      { collection, limit: 10, offset: 0 },
      { collection, limit: 1, offset: 0 },
      { collection, limit: 1, offset: 1 },
      { collection, limit: 10, offset: items + 5 },
    ].map((window): [unknown] => [window]),
  );
  await t.property(
    asked,
    async ({ collection, limit, offset }: Asked) => {
      await undisturbed(t, collection, async () => {
        const answer = await page(t, collection, { limit, offset, expand: 'total_count' });
        const { total_count: total } = answer;
        t.must(typeof total === 'number' && total >= 0, {
          expected: 'an integer of 0 or more in total_count with expand=total_count',
          actual: total,
          counterexample: { collection, limit, offset, expand: 'total_count' },
        });
        const items = found.get(collection) ?? 0;
        if (total === items) return { agrees: true };
        const now = await sizeOf(t, collection);
        found.set(collection, now);
        return {
          agrees: false,
          changed: now !== items,
          finding: {
            expected: `total_count ${items}, which a walk through ${collection} counts`,
            actual: `total_count ${total}`,
            counterexample: { collection, limit, offset, expand: 'total_count' },
          },
        };
      });
    },
    { runs: examples.length + 10, examples },
  );
  for (const [collection, items] of found) {
    if (items < COUNTED) continue;
    // Too many to turn every page: the last item has to be where the count says.
    await undisturbed(t, collection, async () => {
      const last = await page(t, collection, { limit: 10, offset: items - 1, expand: 'total_count' });
      return last.data.length === 1
        ? { agrees: true }
        : {
            agrees: false,
            changed: last.total_count !== items,
            finding: {
              expected: `one item at offset ${items - 1} of ${collection}, whose total_count is ${items}`,
              actual: `${last.data.length} items`,
            },
          };
    });
  }
});

export const totalCountChecks = [omitted, exact];
