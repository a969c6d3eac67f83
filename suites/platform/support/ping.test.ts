import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { clientOf } from '../../../harness/client/testing/served.ts';
import { Session } from '../../../harness/runner/session.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import { blockIfDeleted } from './ping.ts';
import type { Platform } from './requests.ts';

it.each<[string, number, string]>([
  ['that is not in the list', 200, 'blocks'],
  ['without a list of devices', 404, 'goes on'],
])('a ping answered 404 by a platform %s (%i) %s', async (_, status, due) => {
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(url.includes('?') ? status : 404, { 'content-type': 'application/json' });
    response.end('{"object":"list","limit":100,"offset":0,"has_more":false,"data":[]}');
  });
  const { signal } = new AbortController();
  const t = {
    ...{ http: await clientOf(server, { signal }), session: new Session(), signal, patienceMs: 5000 },
    must: (holds: unknown) => expect(holds).toBe(true),
    blocked: (reason: string) => {
      throw new Blocked(reason);
    },
  };
  const looking = blockIfDeleted(t as unknown as Platform, 'dvc_1', { status: 404 } as HttpResponse);
  await (due === 'blocks'
    ? expect(looking).rejects.toThrow('the platform has no device dvc_1')
    : expect(looking).resolves.toBeUndefined());
});
