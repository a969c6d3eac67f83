/** Section 8: integers of any size, and what is no integer, as `limit` or `offset`. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { codePoint } from '../code-points.ts';
import { clampedTo100, lowLimit, MAXIMUM, offsetZero } from './support/clamped.ts';
import { asPage, getList, page, served } from './support/lists.ts';
import { anyHuge, anyHugeNegative, huge, hugeNegative, short } from './support/numbers.ts';
import { check, type Platform } from './support/platform.ts';
import { broken, ok, refused, said } from './support/send.ts';

const HUGE = requirement({
  id: 'platform.list.clamp.huge',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'Integers of any size are clamped and never an error: 2^31, 2^53, 2^64, -2^63, 400 digits.',
});
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

const NONSENSE = requirement({
  id: 'platform.list.clamp.nonsense',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'What is no integer at all breaks nothing: a 4xx, or a list whose limit and offset are in range. Which of them is recorded.',
});
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
    fc.string({ unit: codePoint, maxLength: 12 }),
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

export const clampingExtremesChecks = [hugeLimits, hugeOffsets, nonsense];
