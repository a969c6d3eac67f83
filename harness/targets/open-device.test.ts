import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Redactor } from '../client/redact.ts';
import { openDeviceTarget } from './open-device.ts';

let folder: string;
const servers: Server[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-target-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await rm(folder, { recursive: true });
});

/** Answers every request with what `answer` gives. */
async function serve(
  at: string | 0,
  answer: (path: string, authorization: string | undefined) => unknown,
): Promise<number> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer(request.url ?? '', request.headers.authorization)));
  });
  servers.push(server);
  await new Promise<void>((resolve) =>
    at === 0 ? server.listen(0, '127.0.0.1', resolve) : server.listen(at, resolve),
  );
  return (server.address() as AddressInfo).port;
}

const options = () => ({ redactor: new Redactor(), env: {} });

test('reaches a unix socket without a credential, below the version prefix', async () => {
  const socket = join(folder, 'agent.sock');
  await serve(socket, (path, authorization) => ({ path, authorization }));
  await using target = await openDeviceTarget({ ...options(), socket });
  expect(target.unreachable).toBeUndefined();
  expect(target.transport).toMatchObject({ kind: 'unix', socketPath: socket });
  expect(target.capabilities.has('unix')).toBe(true);
  expect((await target.http.get('/events')).json).toEqual({ path: '/v0.2/events' });
  expect(target.description).toMatchObject({ kind: 'unix', address: `unix:${socket}`, control: 'none' });
});

test('takes port and token from a discovery file, and keeps the token secret', async () => {
  const port = await serve(0, (_, authorization) => ({ authorization }));
  const discovery = join(folder, 'discovery.json');
  await writeFile(discovery, JSON.stringify({ port, token: 'a-token-of-the-agent' }));
  const { redactor } = options();
  await using target = await openDeviceTarget({ redactor, env: {}, discovery });
  expect(target.capabilities.has('loopback')).toBe(true);
  expect((await target.http.get('/x')).json).toEqual({ authorization: 'Bearer a-token-of-the-agent' });
  expect(redactor.text('a-token-of-the-agent')).toBe('***');
});

test.each([
  ['a socket that nobody serves', { socket: '/nonexistent/agent.sock' }, /no such socket.*curl --unix-socket/],
  ['a discovery file that is not there', { discovery: '/nonexistent/discovery.json' }, /no such discovery file/],
  ['an address that refuses', { url: 'http://127.0.0.1:1' }, /connection refused.*curl/],
])('reports %s with what to try, and does not throw', async (_, address, words) => {
  await using target = await openDeviceTarget({ ...options(), ...address });
  expect(target.unreachable).toMatch(words);
});

test('adds the capabilities of a control API and what it declares', async () => {
  const socket = join(folder, 'agent.sock');
  const control = join(folder, 'control.sock');
  await serve(socket, () => ({}));
  await serve(control, () => ({ capabilities: ['drive', 'compact', 'log'], heartbeat_seconds: 2, event_log: '/x' }));
  await using target = await openDeviceTarget({ ...options(), socket, control });
  expect([...target.capabilities]).toEqual(expect.arrayContaining(['drive', 'compact', 'log']));
  expect(target.heartbeatSeconds).toBe(2);
});

test('reports a control that does not answer', async () => {
  const socket = join(folder, 'agent.sock');
  await serve(socket, () => ({}));
  await using target = await openDeviceTarget({ ...options(), socket, control: join(folder, 'none.sock') });
  expect(target.unreachable).toMatch(/control: .*no such socket/);
});

test.each([
  ['nothing', {}, /Give one of --socket/],
  ['two addresses', { socket: 'a', discovery: 'b' }, /--socket and --discovery: give one/],
  ['an address with a password', { url: 'http://a:b@127.0.0.1/' }, /credentials do not belong/],
  ['an address of another kind', { url: 'ftp://127.0.0.1/' }, /http:\/\/ or https:\/\//],
  ['an unknown capability', { socket: 'a', capability: ['drvie'] }, /did you mean drive/],
  ['a capability of a platform', { socket: 'a', capability: ['write'] }, /accepted are unix, .*, files$/],
])('throws a usage error for %s', async (_, given, words) => {
  await expect(openDeviceTarget({ ...options(), ...given })).rejects.toThrow(words);
});
