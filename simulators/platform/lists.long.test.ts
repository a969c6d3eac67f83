import { it } from 'vitest';
import { RESOURCE_KINDS } from '../../harness/contract/platform/operation.ts';
import { startPlatform } from './testing/client.ts';
import { comparePages, itemsById } from './testing/pages.ts';

it.for(RESOURCE_KINDS)('%s: pages and walks agree with a model during other writes', async (kind) => {
  await using platform = await startPlatform({ devices: 130, seed: 5 });
  await comparePages(platform, kind, await itemsById(platform, kind), { walks: 6, pages: 15 });
});
