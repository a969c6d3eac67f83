import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type ClientRequest, ScriptedServer } from './server.ts';

const PROGRAM = fileURLToPath(new URL('./testing/take-ports.ts', import.meta.url));
const FEW_PORTS = 'ip link set lo up && echo "40000 40063" > /proc/sys/net/ipv4/ip_local_port_range';
const unshared = (command: string) =>
  spawnSync('unshare', ['--map-root-user', '--net', 'sh', '-c', command, process.execPath, PROGRAM], {
    encoding: 'utf8',
  });

test('a server that has left keeps its port while its client may ask', (context) => {
  if (unshared(FEW_PORTS).status !== 0) context.skip('no network of its own on this machine');
  const { stdout, stderr } = unshared(`${FEW_PORTS} && exec "$0" "$1"`);
  expect(stderr).toBe('');
  const { answer, given, again } = JSON.parse(stdout);
  expect({ answer, again }).toEqual({ answer: 'ECONNREFUSED', again: false });
  expect(given).toBeGreaterThan(32);
});

test('a leaving server cuts its connections, and frees its port for another', async () => {
  const listener = { track: () => undefined, request: () => {}, changed: () => {} };
  await using first = await ScriptedServer.open({}, listener);
  const { port = 0 } = first.place;
  const client = connect({ host: '127.0.0.1', port });
  await once(client, 'connect');
  const cut = once(client, 'close');
  await first.leave();
  await cut;
  await using second = await ScriptedServer.open({ port }, listener);
  expect(second.place.port).toBe(port);
  await once(connect({ host: '127.0.0.1', port }), 'connect');
});

test('a server cuts the connection of a client that sends an endless body', async () => {
  const ends: string[] = [];
  const track = { opens() {}, sends() {}, answers() {}, ends: (_: string, how: string) => void ends.push(how) };
  const listener = { track: () => track, request: () => expect.fail('was taken'), changed: () => {} };
  await using server = await ScriptedServer.open({}, listener);
  const client = connect({ host: '127.0.0.1', port: server.place.port ?? 0 }).on('error', () => {});
  const chunks = `3e8\r\n${'x'.repeat(1000)}\r\n`.repeat(2000);
  client.write(`POST /beta/deployments HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`);
  await new Promise((resolve) => client.once('close', resolve));
  expect(ends).toEqual(['cuts the connection, since the body has more than 1048576 bytes']);
});

test('a request target with two slashes at its beginning is a path', async () => {
  const asked = Promise.withResolvers<ClientRequest>();
  const listener = { track: () => undefined, request: asked.resolve, changed: () => {} };
  await using server = await ScriptedServer.open({}, listener);
  const client = connect({ host: '127.0.0.1', port: server.place.port ?? 0 });
  client.write('GET //v0.2/events?after=3 HTTP/1.1\r\nhost: x\r\n\r\n');
  const { path, cursor } = await asked.promise;
  expect({ path, cursor }).toEqual({ path: '//v0.2/events', cursor: '3' });
}, 60_000);
