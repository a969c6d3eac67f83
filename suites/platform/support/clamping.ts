/** One page with a `limit` or `offset` out of range, compared with what section 8 makes of it; and integers of any size. */
import fc from 'fast-check';
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { Platform } from './context.ts';
import { describeList, getPage, ids, type Page } from './lists.ts';
import { whileUnchanged } from './unchanged.ts';

export const MAXIMUM = LIST_LIMITS.limitMaximum;

/** A limit above 100 takes effect as 100. */
export async function mustClampLimitTo100(t: Platform, collection: string, limit: string): Promise<Page> {
  // Another requirement decides about the default of the offset.
  const answer = await getPage(t, collection, { limit, offset: 0 });
  t.must(answer.limit === MAXIMUM && answer.data.length <= MAXIMUM && answer.offset === 0, {
    expected: `limit 100, offset 0 and at most 100 items with limit ${shortened(limit)}`,
    actual: { limit: answer.limit, offset: answer.offset, items: answer.data.length },
    counterexample: describeList(collection, { limit: shortened(limit), offset: 0 }),
  });
  return answer;
}

/** A limit below 1 takes effect as one from 0 to 100. */
export async function mustKeepLimitInRange(t: Platform, collection: string, limit: string): Promise<Page> {
  const answer = await getPage(t, collection, { limit, offset: 0 });
  t.must(answer.limit >= 0 && answer.limit <= MAXIMUM && answer.data.length <= answer.limit, {
    expected: `a limit from 0 to 100 and no more items than that, with limit ${shortened(limit)}`,
    actual: { limit: answer.limit, items: answer.data.length },
    counterexample: describeList(collection, { limit: shortened(limit), offset: 0 }),
  });
  return answer;
}

/** A negative offset takes effect as 0: the page is the first one. */
export async function mustClampOffsetTo0(t: Platform, collection: string, negative: string, limit = 5): Promise<void> {
  const counterexample = describeList(collection, { limit, offset: shortened(negative) });
  const read = (offset: string): Promise<Page> => getPage(t, collection, { limit, offset });
  await whileUnchanged(t, collection, async () => {
    const clamped = await read(negative);
    t.must(clamped.offset === 0 && clamped.limit === limit, {
      expected: `offset 0 and limit ${limit} with offset ${shortened(negative)}`,
      actual: { offset: clamped.offset, limit: clamped.limit },
      counterexample,
    });
    const first = await read('0');
    if (contents(clamped) === contents(first)) return { agrees: true };
    // The list may have changed before the first page was read, or between the two reads.
    const [clampedAgain, firstAgain] = [await read(negative), await read('0')];
    return {
      agrees: false,
      changed: contents(first) !== contents(firstAgain) || contents(clampedAgain) !== contents(clamped),
      finding: {
        expected: `the first page of ${collection} with offset ${shortened(negative)}: ${contents(first)}`,
        actual: contents(clamped),
        counterexample,
      },
    };
  });
}

const contents = (page: Page): string => `has_more ${page.has_more}, ${ids(page.data).join(', ') || 'no items'}`;

const POWERS = [31, 32, 53, 63, 64, 128].map((exponent) => 2n ** BigInt(exponent));
const DIGITS_400 = 10n ** 399n;

/** Decimal digits, unlike `String(1e21)`. */
export const HUGE: readonly string[] = [...POWERS.flatMap((power) => [power - 1n, power]), DIGITS_400].map(String);
export const HUGE_NEGATIVE: readonly string[] = [...POWERS.flatMap((power) => [-power, -power - 1n]), -DIGITS_400].map(
  String,
);

/** Any integer above 2^31, up to some hundreds of digits. */
export const anyHuge: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HUGE),
  fc.bigInt({ min: 2n ** 31n, max: 2n ** 80n }).map(String),
  fc.bigInt({ min: 2n ** 200n, max: DIGITS_400 }).map(String),
);
export const anyHugeNegative: fc.Arbitrary<string> = anyHuge.map((digits) => `-${digits}`);

/** `-12…789 (400 characters)`: nobody reads hundreds of digits in a report. */
export const shortened = (digits: string): string =>
  digits.length <= 40 ? digits : `${digits.slice(0, 12)}… (${digits.length} characters)`;
