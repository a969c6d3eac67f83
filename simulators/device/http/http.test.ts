import { once } from 'node:events';
import net from 'node:net';
import { expect, test, vi } from 'vitest';
import { send } from '../../common/testing/requests.ts';
import { referenceBehaviour } from '../behaviour.ts';
import { range } from '../log/testing/recorded-disk.ts';
import { robot } from '../testing/robot.ts';

function talk(path: string, bytes: string, { enough = '\0', half = false } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path, allowHalfOpen: true });
    let text = '';
    socket.on('data', (part) => {
      text += part;
      if (text.includes(enough)) socket.destroy();
    });
    socket.once('error', reject);
    socket.once('end', () => socket.end());
    socket.once('close', () => resolve(text));
    if (half) socket.end(bytes);
    else socket.write(bytes);
  });
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

test('a sync without an uplink answers network_connection_error', async () => {
  await using on = await robot();
  const { status, json } = await on.ask('/device/sync', { method: 'POST' });
  expect(status).toBe(200);
  expect(json).toMatchObject({ code: 'network_connection_error', in_cooldown: false });
});

const get = (path: string) => `GET /v0.2${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test('connections stream without a gap when compaction overtakes the cursor after the answer', async () => {
  await using on = await robot({ retain: 100 });
  await on.device.publish(100);
  // Sends both requests together, so that the agent checks the cursor before the compaction.
  const reading = talk(on.socket, get('/health') + get('/events?after=0'), { enough: 'id: 190\n' });
  await on.device.compact();
  await on.device.publish(90);
  const ids = [...(await reading).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(range(1, ids.length));
});

test('connections stream to an HTTP/1.0 client without chunks', async () => {
  await using on = await robot();
  await on.device.publish(1);
  const text = await talk(on.socket, 'GET /v0.2/events?after=0 HTTP/1.0\r\n\r\n', { enough: 'data: {' });
  expect(text).toMatch(/\r\n\r\n: heartbeat\n\nid: 1\nevent: deployment\.deployed\ndata: \{/);
});

test('connections ignore an Upgrade header, and answer a client that has closed its sending side', async () => {
  await using on = await robot();
  const upgrade = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
  const text = await talk(on.socket, `GET /v0.2/health HTTP/1.1\r\n${upgrade}`, { half: true });
  expect(statuses(text)).toEqual([200]);
  expect(text).toMatch(/^connection: close\r$/im);
  await on.device.publish(1);
  const events = `GET /v0.2/events?after=0 HTTP/1.1\r\n${upgrade}`;
  expect(statuses(await talk(on.socket, events, { enough: 'id: 1' }))).toEqual([200]);
});

test('connections drop bytes that a client sends on its event stream, and keep streaming', async () => {
  await using on = await robot();
  const socket = net.connect(on.socket).setEncoding('utf8');
  socket.write(get('/events'));
  let text = String((await once(socket, 'data'))[0]);
  socket.on('data', (part) => (text += part));
  for (const bytes of [get('/health'), 'no request\r\n\r\n', 'x'.repeat(100_000)])
    await new Promise((written) => socket.write(bytes, written));
  await on.device.publish(1);
  await vi.waitFor(() => expect(text).toContain('id: 1'));
  expect(statuses(text)).toEqual([200]);
  socket.end();
  await once(socket, 'close');
  await vi.waitFor(() => expect(on.device.stats().connections).toBe(0));
});

test('connections answer a request in absolute form', async () => {
  await using on = await robot();
  for (const path of ['http://device/v0.2/health', 'HTTP://device:80/v0.2/health?x'])
    expect((await send({ socketPath: on.socket, path })).status, path).toBe(200);
});

test('connections answer HEAD with headers only', async () => {
  await using on = await robot();
  for (const path of ['/health', '/events']) {
    const answer = await on.ask(path, { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
  }
  expect(on.device.stats().subscribers).toBe(0);
});

test('an internal error is answered with 500, without its message', async () => {
  const deploymentBody = () => {
    throw new Error('secret detail');
  };
  const behaviour = { ...referenceBehaviour, http: { ...referenceBehaviour.http, deploymentBody } };
  await using on = await robot({ behaviour });
  await on.device.deploy();
  const answer = await on.ask('/deployments/current');
  expect(answer.status).toBe(500);
  expect(answer.text).not.toContain('secret');
});
