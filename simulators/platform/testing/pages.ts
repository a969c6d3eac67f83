/** Compares the pages of a list with a model while other collections are written. For tests only. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { type Item, type TestPlatform, walk } from './client.ts';
import { unique } from './kit.ts';

/** Every item of a collection, by ascending id. */
export const itemsById = (platform: TestPlatform, kind: ResourceKind): Promise<Item[]> =>
  walk(platform, `/${RESOURCES[kind].collection}?order_by=id:asc`);

const byId = (left: Item, right: Item): number => (left.id < right.id ? -1 : 1);

const newestFirst = (items: readonly Item[]): Item[] =>
  items.toSorted((left, right) => {
    const [a, b] = [String(left['created_at']), String(right['created_at'])];
    return a === b ? byId(left, right) : a < b ? 1 : -1;
  });

/** `items` are all items of that kind; `runs` says how many walks and single pages to compare. */
export async function comparePages(
  platform: TestPlatform,
  kind: ResourceKind,
  items: readonly Item[],
  runs: { walks: number; pages: number },
): Promise<void> {
  const { collection } = RESOURCES[kind];
  const model = newestFirst(items);
  // These collections are written meanwhile, so their list is narrowed to the ids of the model.
  const written = kind === 'device' || kind === 'group' || kind === 'config_type';
  const own = written ? `&id=${encodeURIComponent(model.map(({ id }) => id).join('|'))}` : '';
  const walks = fc.asyncProperty(
    fc.integer({ min: 1, max: 100 }),
    fc.constantFrom('', 'id:asc'),
    async (limit, order) => {
      // At most about 30 pages, because many small pages take long and prove no more.
      const size = Math.max(limit, Math.ceil(model.length / 30));
      const expected = order === '' ? model : model.toSorted(byId);
      expect(await walk(platform, `/${collection}?order_by=${order}${own}`, size)).toEqual(expected);
    },
  );
  const pages = fc.asyncProperty(fc.integer({ min: 1, max: 110 }), fc.nat(model.length + 20), async (asked, offset) => {
    const { body } = await platform.get(`/${collection}?limit=${asked}&offset=${offset}&expand=total_count${own}`);
    const limit = Math.min(asked, 100);
    expect(body['data']).toEqual(model.slice(offset, offset + limit));
    const has_more = offset + limit < model.length;
    expect(body).toMatchObject({ limit, offset, has_more, total_count: model.length });
  });
  let comparing = true;
  const writes = (async () => {
    while (comparing) {
      if (kind !== 'group') await platform.create('/groups', { name: unique('elsewhere') });
      else await platform.create('/config_types', { name: 'x', slug: unique('elsewhere') });
      if (kind !== 'device') await platform.create('/devices', { name: unique('elsewhere') });
    }
  })();
  try {
    await fc.assert(walks, { numRuns: runs.walks });
    await fc.assert(pages, { numRuns: runs.pages });
  } finally {
    comparing = false;
    await writes;
  }
}
