/** Section 8: defaults, and what becomes of a `limit` or `offset` that is out of range. */
import fc from 'fast-check';
import { requirement } from '../../harness/check/define.ts';
import { LIST_LIMITS } from '../../harness/contract/lists.ts';
import { asPage, getList, ids, page, served } from './support/lists.ts';
import { anyHuge, anyHugeNegative, huge, hugeNegative, short } from './support/numbers.ts';
import { check, type Platform } from './support/platform.ts';
import { undisturbed } from './support/quiet.ts';
import { seeded } from './support/seed.ts';
import { broken, ok, refused, said } from './support/send.ts';

const MAXIMUM = LIST_LIMITS.limitMaximum;
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

const DEFAULTS = requirement(
  'platform.list.defaults',
  'MUST',
  '8',
  'Without parameters a list has limit 10 and offset 0, and the page is the one that these ask for.',
);
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

const HIGH = requirement(
  'platform.list.clamp.high',
  'MUST',
  '8',
  'A limit above 100 takes effect as 100: in the echo and in the page.',
);
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

async function clampedTo100(t: Platform, collection: string, limit: string) {
  const answer = await page(t, collection, { limit });
  t.must(answer.limit === MAXIMUM && answer.data.length <= MAXIMUM && answer.offset === 0, {
    expected: `limit 100, offset 0 and at most 100 items with limit ${short(limit)}`,
    actual: { limit: answer.limit, offset: answer.offset, items: answer.data.length },
    counterexample: `GET /${collection}?limit=${short(limit)}`,
  });
  return answer;
}

const LOW = requirement(
  'platform.list.clamp.low',
  'MUST',
  '8',
  'A limit below 1 is no error: it takes effect as a value from 0 to 100 (1, the nearest that serves anything, is what is usual).',
);
const low = check(LOW, {}, async (t: Platform) => {
  const collections = await served(t);
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), value: fc.integer({ max: 0 }) }),
    async ({ collection, value }) => {
      const { limit, data } = await lowLimit(t, collection, String(value));
      t.should(limit === LIST_LIMITS.limitMinimum, {
        expected: 'limit 1 when a limit below 1 is asked for',
        actual: `limit ${limit} and ${data.length} items`,
      });
    },
    { runs: collections.length * 2 + 15, examples: edges(collections, [0, -1]), ...asks('limit') },
  );
});

async function lowLimit(t: Platform, collection: string, asked: string) {
  const answer = await page(t, collection, { limit: asked });
  t.must(answer.limit >= 0 && answer.limit <= MAXIMUM && answer.data.length <= answer.limit, {
    expected: `a limit from 0 to 100 and no more items than that, with limit ${short(asked)}`,
    actual: { limit: answer.limit, items: answer.data.length },
    counterexample: `GET /${collection}?limit=${short(asked)}`,
  });
  return answer;
}

const OFFSET = requirement(
  'platform.list.clamp.offset',
  'MUST',
  '8',
  'A negative offset takes effect as 0: in the echo and in the page.',
);
const offset = check(OFFSET, { profile: 'core' }, async (t: Platform) => {
  const collections = await served(t);
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), value: fc.integer({ max: -1 }) }),
    async ({ collection, value }) => offsetZero(t, collection, String(value)),
    { runs: collections.length * 2 + 15, examples: edges(collections, [-1, -10]), ...asks('offset') },
  );
});

async function offsetZero(t: Platform, collection: string, asked: string): Promise<void> {
  const query = { limit: 5, offset: asked };
  const answer = await page(t, collection, query);
  t.must(answer.offset === 0 && answer.limit === 5, {
    expected: `offset 0 and limit 5 with offset ${short(asked)}`,
    actual: { offset: answer.offset, limit: answer.limit },
    counterexample: `GET /${collection}?limit=5&offset=${short(asked)}`,
  });
  await undisturbed(t, collection, async () => {
    const [first, clamped, again] = [
      ids((await page(t, collection, { limit: 5, offset: 0 })).data),
      ids((await page(t, collection, query)).data),
      ids((await page(t, collection, { limit: 5, offset: 0 })).data),
    ];
    if (clamped.join() === first.join()) return { agrees: true };
    return {
      agrees: false,
      changed: first.join() !== again.join(),
      finding: {
        expected: `the first page of ${collection} with offset ${short(asked)}: ${first.join(', ')}`,
        actual: clamped.join(', '),
      },
    };
  });
}

const HUGE = requirement(
  'platform.list.clamp.huge',
  'MUST',
  '8',
  'Integers of any size are clamped and never an error: 2^31, 2^53, 2^64, -2^63, 400 digits.',
);
const hugeLimits = check(HUGE, {}, async (t: Platform) => {
  const collections = await served(t);
  const [collection] = collections;
  const asked = fc.record({
    collection: fc.constantFrom(...collections),
    sign: fc.constantFrom('high', 'low'),
    digits: anyHuge,
  });
  await t.property(
    asked,
    async ({ collection, sign, digits }) => {
      if (sign === 'high') await clampedTo100(t, collection, digits);
      else await lowLimit(t, collection, `-${digits}`);
    },
    {
      runs: huge.length * 2 + 8,
      examples: huge.flatMap((digits) => ['high', 'low'].map((sign): [unknown] => [{ collection, sign, digits }])),
      describe: ({ collection, sign, digits }: { collection: string; sign: string; digits: string }) =>
        `GET /${collection}?limit=${sign === 'low' ? '-' : ''}${short(digits)}`,
    },
  );
});

const hugeOffsets = check(HUGE, { aspect: 'offset' }, async (t: Platform) => {
  const [collection] = await served(t);
  await t.property(
    fc.oneof(anyHuge, anyHugeNegative),
    async (asked) => {
      if (asked.startsWith('-')) return offsetZero(t, collection, asked);
      const answer = await page(t, collection, { limit: 5, offset: asked });
      t.must(answer.limit === 5 && answer.data.length === 0 && !answer.has_more && answer.offset >= 0, {
        expected: `an empty page, has_more false, beyond the end at offset ${short(asked)}`,
        actual: { offset: answer.offset, limit: answer.limit, items: answer.data.length, has_more: answer.has_more },
        counterexample: `GET /${collection}?limit=5&offset=${short(asked)}`,
      });
    },
    {
      runs: huge.length * 2 + 8,
      examples: [...huge, ...hugeNegative].map((digits): [unknown] => [digits]),
      describe: (digits: string) => `GET /${collection}?limit=5&offset=${short(digits)}`,
    },
  );
});

const NONSENSE = requirement(
  'platform.list.clamp.nonsense',
  'MUST',
  '8',
  'What is no integer at all breaks nothing: a 4xx, or a list whose limit and offset are in range. Which of them is recorded.',
);
const TEXTS = [
  'abc',
  '1e2',
  '0x10',
  '+5',
  ' 5',
  '5 ',
  '5.5',
  '',
  '-',
  '0',
  '007',
  '1_000',
  '٣',
  'null',
  '5,6',
  '\u0000',
  'NaN',
  '∞',
];

const nonsense = check(NONSENSE, {}, async (t: Platform) => {
  const [collection] = await served(t);
  const raw = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => text.isWellFormed()),
    fc.string({ unit: 'grapheme-ascii', maxLength: 12 }),
  );
  const query = fc.record({ name: fc.constantFrom('limit', 'offset'), text: raw.map(encodeURIComponent) });
  const examples = ['limit', 'offset'].flatMap((name) => [
    ...TEXTS.map((text) => [{ name, text: encodeURIComponent(text) }]),
    [{ name, text: `5&${name}=7` }],
    [{ name: `${name}[]`, text: '5' }],
    [{ name, text: '%zz' }],
    [{ name, text: '%ff' }],
  ]) as [{ name: string; text: string }][];
  const seen = new Map<string, string[]>();
  await t.property(
    query,
    async ({ name, text }) => {
      const asked = `${name}=${text}`;
      const response = await getList(t, collection, asked);
      t.must(!broken(response) && (ok(response) || refused(response)), {
        expected: `a list or a 4xx to ?${asked}`,
        actual: said(response),
        counterexample: `GET /${collection}?${asked}`,
      });
      let outcome = `${response.status}`;
      if (ok(response)) {
        const answer = asPage(t, collection, response);
        const inRange = answer.limit >= 0 && answer.limit <= MAXIMUM && answer.offset >= 0;
        t.must(inRange && answer.data.length <= answer.limit, {
          expected: `a limit from 0 to 100, an offset from 0, and no more items than the limit, with ?${asked}`,
          actual: { limit: answer.limit, offset: answer.offset, items: answer.data.length },
          counterexample: `GET /${collection}?${asked}`,
        });
        outcome = `limit ${answer.limit}, offset ${answer.offset}`;
      }
      if (examples.some(([example]) => example.text === text)) seen.set(outcome, [...(seen.get(outcome) ?? []), asked]);
    },
    {
      runs: examples.length + 20,
      examples,
      describe: (asked: { name: string; text: string }) => `GET /${collection}?${asked.name}=${asked.text}`,
    },
  );
  for (const [outcome, asked] of seen) t.note(`${[...new Set(asked)].join(' ')} → ${outcome}`);
});

export const clampingChecks = [defaults, high, obeyed, low, offset, hugeLimits, hugeOffsets, nonsense];
