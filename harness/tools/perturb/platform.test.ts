/** The proxy before a Platform API of two records, one of which is renamed, and a third that is created. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import type { Trace } from './forward.ts';
import type { Perturbation } from './perturbation.ts';
import { PlatformChanges } from './platform.ts';

let records: { object: string; id: string; name: string }[] = [];

const server = http.createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  const given = body === '' ? {} : (JSON.parse(body) as object);
  const id = /^\/beta\/groups\/(\w+)/.exec(request.url ?? '')?.[1];
  const found = records.find((each) => each.id === id);
  if (request.method === 'POST') records.push({ object: 'group', id: 'c', name: 'C', ...given });
  if (request.method === 'PATCH') Object.assign(found ?? {}, given);
  const one = request.method === 'POST' ? records.at(-1) : found;
  const page = { object: 'list', limit: 10, has_more: false, data: records };
  const isRefused = request.headers['x-api-key'] !== 'full' || (id !== undefined && found === undefined);
  response.writeHead(isRefused ? 403 : 200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(isRefused ? { error: {} } : (one ?? page)));
});

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.close();
});

/** Renames one record, creates another, and asks. Resolves with the status and the body of the last answer. */
async function asked(it: Pick<Perturbation, 'kind'> & Partial<Perturbation>, path: string, key = 'full') {
  records = ['A', 'B'].map((name) => ({ object: 'group', id: name.toLowerCase(), name }));
  const { port } = server.address() as AddressInfo;
  let letters = '';
  const trace: Trace = (letter) => {
    letters += letter;
  };
  const perturbation = { api: 'platform', seed: 0, server: '', cell: {}, ...it } as const;
  const proxy = new PlatformChanges(perturbation, { host: '127.0.0.1', port }, trace, {
    full: 'full',
    limited: 'some',
  });
  const ask = (method: string, to: string, given: string, own: string) => {
    const headers = ['Host', 'platform', 'X-API-Key', own, 'Service-Version', NEWEST_VERSION];
    return proxy.answer({ method, url: `/beta${to}`, headers, body: Buffer.from(given), connection: 'new' });
  };
  await ask('PATCH', '/groups/a', '{"name":"new"}', 'full');
  await ask('POST', '/groups', '{"name":"C"}', 'full');
  letters = '';
  const { status, body } = await ask('GET', path, '', key);
  return { status, body: JSON.parse(body.toString()) as unknown, changed: letters.includes('a') };
}

const list = { operation: 'GET /groups' };
const one = { operation: 'GET /groups/{group_id}' };
const group = (name: string, id = name.toLowerCase()) => ({ object: 'group', id, name });
const page = (...data: object[]) => ({ object: 'list', limit: 10, has_more: false, data });

it.each<[string, Pick<Perturbation, 'kind'> & Partial<Perturbation>, string, unknown]>([
  ['as before the write', { kind: 'stale', cell: one }, '/groups/a', group('A')],
  [
    'one member as before',
    { kind: 'stale', cell: list, path: ['name'], item: 'each' },
    '/groups',
    page(group('A'), group('B'), group('C')),
  ],
  ['without what was created', { kind: 'creation-undone', cell: list }, '/groups', page(group('new', 'a'), group('B'))],
  ['with the name of another', { kind: 'foreign', cell: one, path: ['name'] }, '/groups/a', group('C', 'a')],
  [
    'one item without its name',
    { kind: 'dropped', cell: list, path: ['name'], item: 'last' },
    '/groups',
    page(group('new', 'a'), group('B'), { object: 'group', id: 'c' }),
  ],
  [
    'a count for which nobody asked',
    { kind: 'counted', cell: list },
    '/groups',
    { ...page(group('new', 'a'), group('B'), group('C')), total_count: 3 },
  ],
])('%s', async (_, it_, path, body) => {
  expect(await asked(it_, path)).toEqual({ status: 200, body, changed: true });
});

it('lets through what has to be refused, and refuses what has not', async () => {
  const cell = { ...one, key: 'none' } as const;
  expect(await asked({ kind: 'let-through', value: 'key', cell }, '/groups/b', 'wrong')).toMatchObject({
    status: 200,
    body: group('B'),
    changed: true,
  });
  expect(
    await asked({ kind: 'let-through', value: 'key', cell: { ...cell, key: 'limited' } }, '/groups/b', 'wrong'),
  ).toMatchObject({ status: 403, changed: false });
  expect(await asked({ kind: 'refused', value: '500', cell: one }, '/groups/b')).toMatchObject({
    status: 500,
    changed: true,
  });
});
