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

export async function offsetZero(t: Platform, collection: string, asked: string): Promise<void> {
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
