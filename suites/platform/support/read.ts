/** One resource by its id. The path is not shown for most; a platform that has none is asked for its list. */
import type { Item } from './lists.ts';
import type { Platform } from './platform.ts';
import { ok, said, send } from './send.ts';
import { walk } from './walk.ts';

export async function read(t: Platform, collection: string, id: string, expand: readonly string[] = []): Promise<Item> {
  const response = await send(t, {
    path: `/${collection}/${encodeURIComponent(id)}`,
    ...(expand.length === 0 ? {} : { query: { expand } }),
  });
  const item = response.json as Item | undefined;
  if (ok(response)) {
    t.must(item?.id === id, { expected: `${id} from GET /${collection}/${id}`, actual: said(response) });
    return item;
  }
  const listed = (await walk(t, collection, { limit: 100, pages: 20 })).items.find((other) => other.id === id);
  return listed ?? t.blocked(`GET /${collection}/${id} answered ${said(response)}, and the list does not show it`);
}
