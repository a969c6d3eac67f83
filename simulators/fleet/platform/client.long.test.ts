import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { PlatformClient, PlatformFailure, sendUntilTaken } from './client.ts';

interface Answer {
  status: number;
  body?: object;
  retryAfter?: string;
}

async function platformWith(answer: (n: number, request: IncomingMessage, body: string) => Answer | undefined) {
  const seen: { at: number; path: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    seen.push({ at: performance.now(), path: `${request.method} ${request.url?.split('?')[0]}` });
    const given = answer(seen.length - 1, request, body);
    if (given === undefined) return void request.socket.destroy();
    response.writeHead(given.status, given.retryAfter === undefined ? {} : { 'retry-after': given.retryAfter });
    response.end(JSON.stringify(given.body ?? {}));
  });
  const { url } = await served(server);
  const client = new PlatformClient({ url, apiKey: 'key-of-the-fleet' });
  onTestFinished(() => client.close());
  return { seen, client };
}

const TOKEN = { status: 201, body: { token: 'token' } };

it('the client waits as long as Retry-After asks', async () => {
  const { client, seen } = await platformWith((n) => (n === 0 ? { status: 429, retryAfter: '1' } : TOKEN));
  await client.provisioningToken();
  const [first, second] = seen;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1000);
});

it.each([400, 401, 403, 404, 409, 501])('the client does not repeat a request answered with %s', async (status) => {
  const { client, seen } = await platformWith(() => ({ status }));
  await expect(client.provisioningToken()).rejects.toMatchObject({ name: 'PlatformFailure', status });
  expect(seen).toHaveLength(1);
});

it('the client fails at once when the requested wait is too long', async () => {
  const { client } = await platformWith(() => ({ status: 429, retryAfter: '300' }));
  await expect(client.provisioningToken()).rejects.toThrow(/sent once within 60 s, and it asks to wait 300 s/);
});

it('the client does not retry an address that refuses connections', async () => {
  let sent = 0;
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const send = () => {
    sent += 1;
    return Promise.reject(new PlatformFailure(0, `attempt ${sent}`, { cause: refused }));
  };
  await expect(sendUntilTaken(send, { signal: new AbortController().signal })).rejects.toThrow('attempt 1');
});

it('the client creates a release on a platform that loses answers', async () => {
  const versions = new Set<string>();
  let types = 0;
  const { client } = await platformWith((n, { method, url = '' }, body) => {
    if (method === 'GET') return { status: 200, body: { data: [] } };
    if (url === '/config_types') {
      types += 1;
      return types === 1 ? { status: 502 } : { status: 409 };
    }
    if (url !== '/releases') return { status: 201, body: { id: `id-${n}` } };
    const { version } = JSON.parse(body) as { version: string };
    if (versions.has(version)) return { status: 409 };
    versions.add(version);
    return versions.size === 1 ? undefined : { status: 201, body: { id: 'release' } };
  });
  expect(await client.createReleaseFixture('one', '{}')).toMatchObject({ releaseId: 'release' });
  expect([...versions]).toEqual(['one', 'one (2)']);
});

it('the client creates its config type on a platform that ignores filters', async () => {
  const others = { status: 200, body: { data: [{ id: 'other', slug: 'other' }] } };
  const { client, seen } = await platformWith((n, { method }) =>
    method === 'GET' ? others : { status: 201, body: { id: `id-${n}` } },
  );
  await client.createReleaseFixture('one', '{}');
  expect(seen.map(({ path }) => path)).toContain('POST /config_types');
});

it('the client sends a measured request only once', async () => {
  const { client, seen } = await platformWith(() => ({ status: 429, retryAfter: '0' }));
  const release = { releaseId: 'r', configInstanceIds: [] };
  for (const call of [client.deploy('d', release, ''), client.ping('d'), client.listPage({ limit: 1, offset: 0 })])
    await expect(call).rejects.toMatchObject({ status: 429 });
  expect(seen).toHaveLength(3);
});
