/** One page with a limit or offset out of range, held against what has to become of it. */
import { LIST_LIMITS } from '../../../harness/contract/lists.ts';
import { ids, type Page, page } from './lists.ts';
import { short } from './numbers.ts';
import type { Platform } from './platform.ts';
import { undisturbed } from './quiet.ts';

export const MAXIMUM = LIST_LIMITS.limitMaximum;

export async function clampedTo100(t: Platform, collection: string, limit: string): Promise<Page> {
  const answer = await page(t, collection, { limit });
  t.must(answer.limit === MAXIMUM && answer.data.length <= MAXIMUM && answer.offset === 0, {
    expected: `limit 100, offset 0 and at most 100 items with limit ${short(limit)}`,
    actual: { limit: answer.limit, offset: answer.offset, items: answer.data.length },
    counterexample: `GET /${collection}?limit=${short(limit)}`,
  });
  return answer;
}

export async function lowLimit(t: Platform, collection: string, asked: string): Promise<Page> {
  const answer = await page(t, collection, { limit: asked });
  t.must(answer.limit >= 0 && answer.limit <= MAXIMUM && answer.data.length <= answer.limit, {
    expected: `a limit from 0 to 100 and no more items than that, with limit ${short(asked)}`,
    actual: { limit: answer.limit, items: answer.data.length },
    counterexample: `GET /${collection}?limit=${short(asked)}`,
  });
  return answer;
}

export async function offsetZero(t: Platform, collection: string, asked: string, limit = 5): Promise<void> {
  const counterexample = `GET /${collection}?limit=${limit}&offset=${short(asked)}`;
  const look = async (offset: string) => page(t, collection, { limit, offset });
  await undisturbed(t, collection, async () => {
    const clamped = await look(asked);
    t.must(clamped.offset === 0 && clamped.limit === limit, {
      expected: `offset 0 and limit ${limit} with offset ${short(asked)}`,
      actual: { offset: clamped.offset, limit: clamped.limit },
      counterexample,
    });
    const first = await look('0');
    if (told(clamped) === told(first)) return { agrees: true };
    // It may have changed before the first page was read, or between the two.
    const [between, again] = [await look(asked), await look('0')];
    return {
      agrees: false,
      changed: told(first) !== told(again) || told(between) !== told(clamped),
      finding: {
        expected: `the first page of ${collection} with offset ${short(asked)}: ${told(first)}`,
        actual: told(clamped),
        counterexample,
      },
    };
  });
}

/** What has to be the same in two answers that show one page. */
const told = (answer: Page): string => `has_more ${answer.has_more}, ${ids(answer.data).join(', ') || 'no items'}`;
