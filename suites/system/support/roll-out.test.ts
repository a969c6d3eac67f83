/** What a check of a system leaves behind: its deployments are archived, also when it is over. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { HttpClient } from '../../../harness/client/http.ts';
import { Session } from '../../../harness/runner/session.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import type { Platform } from '../../platform/support/requests.ts';
import { archiveMade, CheckState, type ReleaseFixture, tryDeployment } from './roll-out.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A platform as far as a check needs one; the check has made a deployment, and can be ended. */
async function deployed(answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const over = new AbortController();
  const { port } = server.address() as AddressInfo;
  const http = new HttpClient({ endpoint: { origin: `http://127.0.0.1:${port}` }, signal: over.signal });
  closing.push(
    () => server.close(),
    () => server.closeAllConnections(),
    () => http.close(),
  );
  const t = { http, session: new Session(), signal: over.signal, patienceMs: 5000 } as unknown as Platform;
  const state = new CheckState();
  const fixture = { release: { id: 'rls_1' }, instance: { id: 'cfi_1' } } as unknown as ReleaseFixture;
  await tryDeployment(t, state, fixture, 'dvc_1');
  return { t, state, end: () => over.abort(new Blocked('over')), asked };
}

it('deployments are archived once, although the check is over', async () => {
  const { t, state, end, asked } = await deployed((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'deployment', id: 'dpl_1' }));
  });
  end();
  await archiveMade(t, state);
  await archiveMade(t, state);
  expect(asked).toEqual(['POST /deployments', 'POST /deployments/dpl_1/archive']);
});

it('a platform that does not answer holds up no other check', async () => {
  let isSilent = false;
  const { t, state, end } = await deployed((_, response) => {
    if (!isSilent) response.end('{"id":"dpl_1"}');
  });
  isSilent = true;
  end();
  await expect(archiveMade(t, state)).resolves.toBeUndefined();
});
