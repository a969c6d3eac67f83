import { expect, it } from 'vitest';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { platformThat } from '../testing/platform.ts';
import { blockIfDeleted } from './ping.ts';

const OTHERS = { has_more: true, data: [{ object: 'device', id: 'dvc_2' }] };
it.each<[string, number, string, object]>([
  ['that lists no device', 200, 'blocks', {}],
  ['that lists thousands of others', 200, 'blocks', OTHERS],
  ['without a list of devices', 404, 'goes on', {}],
])('a ping answered 404 by a platform %s (%i) %s', async (_, status, due, more) => {
  const { t } = await platformThat(({ url = '' }, response) => {
    response.writeHead(url.includes('?') ? status : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', limit: 100, offset: 0, has_more: false, data: [], ...more }));
  });
  const looking = blockIfDeleted(t, 'dvc_1', { status: 404 } as HttpResponse);
  await (due === 'blocks'
    ? expect(looking).rejects.toThrow('the platform shows no device dvc_1')
    : expect(looking).resolves.toBeUndefined());
});
