import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Redactor } from '../client/redact.ts';
import { HttpControl } from './control/http-control.ts';
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

/** A device on a socket, driven by what a target file says. */
async function withControl(control: string, given: object = {}) {
  const socket = join(folder, 'agent.sock');
  if (servers.length === 0) await serve(socket, () => ({}));
  await writeFile(join(folder, 'target.yaml'), `device: {socket: agent.sock}\ncontrol: ${control}\n`);
  return await openDeviceTarget({ ...options(), target: join(folder, 'target.yaml'), ...given });
}
const OF_CONTROL = ['drive', 'compact', 'restart', 'log', 'files'] as const;

test.each<[string, string[], string, number]>([
  ['{heartbeat_seconds: 7}', [], 'none', 7],
  ['{drive: "true", heartbeat_seconds: 7}', ['drive'], 'commands', 7],
  ['{compact: "true"}', ['compact'], 'commands', 30],
  ['{stop: "true", start: "true", event_log: log, config_root: .}', ['restart', 'log', 'files'], 'commands', 30],
  [
    '{drive: "true", stop: "true", start: "true", event_log: log, fill: "true"}',
    ['drive', 'compact', 'restart', 'log'],
    'commands',
    30,
  ],
  ['{event_log: log, fill: "true", drive: "true"}', ['drive', 'log'], 'commands', 30],
])('the commands %s of a target file give %j', async (control, capabilities, kind, heartbeat) => {
  await using target = await withControl(control);
  expect(target.unreachable).toBeUndefined();
  expect(OF_CONTROL.filter((name) => target.capabilities.has(name))).toEqual(capabilities);
  expect(target.description).toMatchObject({ control: kind, capabilities: [...target.capabilities] });
  expect(target.description).not.toHaveProperty('ended');
  expect(await target.diagnostics()).toBe('');
  expect(target.heartbeatSeconds).toBe(heartbeat);
});

test.each([
  ['an option', { controlToken: 'tok-1f2e3d4c5b' }],
  ['the environment', { env: { MUSTER_CONTROL_TOKEN: 'tok-1f2e3d4c5b' } }],
])('a control API is sent the token of %s, which is a secret', async (_, given) => {
  const sent: (string | undefined)[] = [];
  const port = await serve(0, (__, authorization) => {
    sent.push(authorization);
    return { capabilities: ['drive'] };
  });
  await serve(join(folder, 'agent.sock'), () => ({}));
  const redactor = new Redactor();
  await using target = await withControl(`{http: "${port}"}`, { redactor, ...given });
  expect([...target.capabilities]).toContain('drive');
  expect(sent).toEqual(['Bearer tok-1f2e3d4c5b']);
  expect(redactor.text('tok-1f2e3d4c5b')).toBe('***');
});

test('a control that is attached comes before that of a target file, which has what it lacks', async () => {
  const info = { capabilities: ['drive'], heartbeat_seconds: 3 };
  const attached = new HttpControl(join(folder, 'control.sock'));
  await serve(join(folder, 'control.sock'), () => info);
  await serve(join(folder, 'agent.sock'), () => ({}));
  await using target = await withControl('{compact: "true"}', { attach: () => Promise.resolve(attached) });
  expect(OF_CONTROL.filter((name) => target.capabilities.has(name))).toEqual(['drive', 'compact']);
  expect(target.heartbeatSeconds).toBe(3);
});

test('a device whose control does not answer still has its transport, and is told so', async () => {
  await using target = await withControl('{http: none.sock}');
  expect(target.unreachable).toMatch(/The device answers, but its control does not: without --control the black-box/);
  expect([...target.capabilities].filter((name) => name !== 'root')).toEqual(['unix']);
});

test.each([
  ['echo oh-no; exit 3', 'echo oh-no; exit 3'],
  ['exit 3 # {socket}', /^unix:.*agent\.sock$/],
])('a command that ends is told with what it wrote: %s', async (command, address) => {
  await using target = await openDeviceTarget({ ...options(), env: process.env, command });
  expect(target.unreachable).toMatch(/ended with exit code 3/);
  expect(target.description).toMatchObject({ kind: 'command', control: 'none' });
  expect(target.description.address).toMatch(address);
  expect([...target.capabilities].filter((name) => !['unix', 'root'].includes(name))).toEqual([]);
});
