/** Section 8: what becomes of a `limit` or `offset` that is an integer of any size, or no integer at all. */
import fc from 'fast-check';
import { codePoint } from '../../harness/runner/property.ts';
import { type Platform, section } from './support/check.ts';
import { type Collection, getList, getPage, pageFrom, servedCollections } from './support/lists.ts';
import {
  anyHuge,
  anyHugeNegative,
  HUGE,
  HUGE_NEGATIVE,
  MAXIMUM,
  mustClampLimitTo100,
  mustClampOffsetTo0,
  mustKeepLimitInRange,
  shortened,
} from './support/pages.ts';
import { describeResponse, ok, refused, serverError } from './support/requests.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '8', since: '2026-11-21' });

const anySize = requirement({
  id: 'platform.list.clamp.huge',
  clause:
    'An invalid `limit` is replaced by the nearest valid value … ' +
    'An invalid `offset` is replaced by the nearest valid value',
  text: 'Integers of any size are clamped and never cause an error: 2^31, 2^53, 2^64, -2^63, 400 digits.',
});
check(anySize, { premises: ['platform.list.clamp.low'] }, async (t: Platform) => {
  const collections = await servedCollections(t);
  const [collection] = collections;
  const asked = fc.record({
    collection: fc.constantFrom(...collections),
    sign: fc.constantFrom('high', 'low'),
    digits: anyHuge,
  });
  await t.property(
    asked,
    async ({ collection, sign, digits }) => {
      if (sign === 'high') await mustClampLimitTo100(t, collection, digits);
      else await mustKeepLimitInRange(t, collection, `-${digits}`);
    },
    {
      runs: HUGE.length * 2 + 8,
      examples: HUGE.flatMap((digits) => ['high', 'low'].map((sign): [unknown] => [{ collection, sign, digits }])),
      describe: ({ collection, sign, digits }: { collection: string; sign: string; digits: string }) =>
        `GET /${collection}?limit=${sign === 'low' ? '-' : ''}${shortened(digits)}`,
    },
  );
});

const OFFSETS = ['platform.list.clamp.offset', 'platform.list.past-end'];
check(anySize, { aspect: 'offset', sharing: 'exclusive', premises: OFFSETS }, async (t: Platform) => {
  const [collection] = await servedCollections(t);
  await t.property(
    fc.oneof(anyHuge, anyHugeNegative),
    async (offset) => {
      if (offset.startsWith('-')) return mustClampOffsetTo0(t, collection, offset);
      const answer = await getPage(t, collection, { limit: 5, offset });
      // Whether an offset past the end is clamped to one within the list is not stated.
      const isTrue = answer.data.length === 0 || BigInt(answer.offset) < BigInt(offset);
      t.must(answer.limit === 5 && isTrue && !answer.has_more && answer.offset >= 0, {
        expected: `has_more false, and no item beyond the end at offset ${shortened(offset)}, or a clamped offset`,
        actual: { offset: answer.offset, limit: answer.limit, items: answer.data.length, has_more: answer.has_more },
        counterexample: `GET /${collection}?limit=5&offset=${shortened(offset)}`,
      });
    },
    {
      runs: HUGE.length * 2 + 8,
      examples: [...HUGE, ...HUGE_NEGATIVE].map((digits): [unknown] => [digits]),
      describe: (digits: string) => `GET /${collection}?limit=5&offset=${shortened(digits)}`,
    },
  );
});

const noInteger = requirement({
  id: 'platform.list.clamp.nonsense',
  clause: 'Out-of-range `limit` or `offset` on list endpoints is not an error; it is clamped',
  text:
    'A limit or offset that is not an integer is answered with a 4xx, ' +
    'or with a list whose limit and offset are in range. The check records which.',
});

/** One query parameter; the text is already encoded. */
interface Parameter {
  name: string;
  text: string;
}
const PARAMETERS = ['limit', 'offset'];
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
const EXAMPLES: readonly Parameter[] = PARAMETERS.flatMap((name) => [
  ...TEXTS.map((text) => ({ name, text: encodeURIComponent(text) })),
  { name, text: `5&${name}=7` },
  { name: `${name}[]`, text: '5' },
  { name, text: '%zz' },
  { name, text: '%ff' },
]);

check(noInteger, { premises: ['platform.list.page-size'] }, async (t: Platform) => {
  const [collection] = await servedCollections(t);
  const anyText = fc.oneof(
    fc.string({ unit: codePoint, maxLength: 12 }),
    fc.string({ unit: 'grapheme-ascii', maxLength: 12 }),
  );
  await t.property(
    fc.record({ name: fc.constantFrom(...PARAMETERS), text: anyText.map(encodeURIComponent) }),
    async ({ name, text }) => {
      const query = `${name}=${text}`;
      const outcome = await mustListOrRefuse(t, collection, query);
      if (EXAMPLES.some((example) => example.text === text)) t.observe(`?${query}`, outcome);
    },
    {
      runs: EXAMPLES.length + 20,
      examples: EXAMPLES.map((parameter): [unknown] => [parameter]),
      describe: ({ name, text }: Parameter) => `GET /${collection}?${name}=${text}`,
    },
  );
});

/** Returns the limit and offset that took effect, or the status of the refusal. */
async function mustListOrRefuse(t: Platform, collection: Collection, query: string): Promise<string> {
  const response = await getList(t, collection, query);
  t.must(!serverError(response) && (ok(response) || refused(response)), {
    expected: `a list or a 4xx to ?${query}`,
    actual: describeResponse(response),
    counterexample: `GET /${collection}?${query}`,
  });
  if (!ok(response)) return `${response.status}`;
  const { limit, offset, data } = pageFrom(t, collection, response);
  t.must(limit >= 0 && limit <= MAXIMUM && offset >= 0 && data.length <= limit, {
    expected: `a limit from 0 to 100, an offset from 0, and no more items than the limit, with ?${query}`,
    actual: { limit, offset, items: data.length },
    counterexample: `GET /${collection}?${query}`,
  });
  return `limit ${limit}, offset ${offset}`;
}
