import { expect, it } from 'vitest';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { platformThat } from '../testing/platform.ts';
import { blockIfDeleted } from './ping.ts';

it.each<[string, number, string]>([
  ['that is not in the list', 200, 'blocks'],
  ['without a list of devices', 404, 'goes on'],
])('a ping answered 404 by a platform %s (%i) %s', async (_, status, due) => {
  const { t } = await platformThat(({ url = '' }, response) => {
    response.writeHead(url.includes('?') ? status : 404, { 'content-type': 'application/json' });
    response.end('{"object":"list","limit":100,"offset":0,"has_more":false,"data":[]}');
  });
  const looking = blockIfDeleted(t, 'dvc_1', { status: 404 } as HttpResponse);
  await (due === 'blocks'
    ? expect(looking).rejects.toThrow('the platform has no device dvc_1')
    : expect(looking).resolves.toBeUndefined());
});
