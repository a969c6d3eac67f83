import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventually, scratch } from '../../simulators/common/testing/scratch.ts';
import { tls } from '../common/node-tls.ts';
import { localhostTls } from '../common/testing/localhost-tls.ts';
import { served } from '../common/testing/servers.ts';
import { isTorn, Relay, type Tap, type Upstream, watchTlsEnd } from './relay.ts';
import { Stage } from './testing/transcripts.ts';
import { expectTransparent, KINDS } from './testing/transparency.ts';

const BLIND: Tap = { opened: () => {}, bytes: () => {}, ended: () => {}, refused: () => {}, fail: () => {} };
const local = (port: number) => ({ host: '127.0.0.1', port });
const USUAL = { listen: local(0), tap: BLIND };

test.each(KINDS)('a relay on %s passes bytes and ends unchanged to each side', async (kind) => {
  await expectTransparent(kind, 100);
});

test('a relay reports a fault of its tap once, and keeps relaying', async () => {
  using home = scratch();
  await using stage = await Stage.open({ path: join(home.path, 'far') });
  const faults: unknown[] = [];
  const fail = (): never => {
    throw new Error('a fault');
  };
  await using _ = await Relay.open({
    listen: { path: join(home.path, 'near') },
    upstream: () => ({ place: { path: join(home.path, 'far') } }),
    tap: { opened: () => {}, bytes: fail, ended: fail, refused: fail, fail: (error) => faults.push(error) },
  });
  const saw = await stage.play(
    [
      { who: 'client', what: 'send', bytes: Buffer.from('one') },
      { who: 'server', what: 'send', bytes: Buffer.from('two') },
    ],
    { path: join(home.path, 'near') },
  );
  expect(Buffer.from(saw.client.bytes, 'base64').toString()).toBe('two');
  expect(faults).toHaveLength(1);
});

async function lingering(serve: (socket: Socket) => void) {
  const { port } = await served(createServer({ allowHalfOpen: true }, serve));
  const relay = await Relay.open({ ...USUAL, upstream: () => ({ place: local(port) }) });
  onTestFinished(() => relay[Symbol.asyncDispose]());
  return {
    relay,
    async client(): Promise<{ socket: Socket; saw: string[] }> {
      const socket = connect({ ...local(relay.port), allowHalfOpen: true });
      const saw: string[] = [];
      socket.on('error', ({ message }) => saw.push(message));
      socket.on('close', () => saw.push('close'));
      socket.resume().write('a');
      await once(socket, 'end');
      onTestFinished(() => void socket.destroy());
      return { socket, saw };
    },
  };
}

test('a relay bounds connections that only the client keeps open, unseen by the client', async () => {
  const { relay, client } = await lingering((socket) => void socket.once('data', () => socket.end().destroySoon()));
  const clients = [];
  for (let each = 0; each < 40; each += 1) clients.push(await client());
  await eventually(() => expect(relay.open).toBe(32));
  expect(clients.flatMap(({ saw }) => saw)).toEqual([]);
  const [oldest] = clients;
  await eventually(() => {
    oldest?.socket.write('b');
    expect(oldest?.saw.at(-1)).toBe('close');
  });
});

test('a relay closes silent half-open clients before a client that still sends', async () => {
  let came = '';
  const { relay, client } = await lingering((socket) => {
    socket.once('data', () => socket.end());
    socket.on('data', (piece) => (came += piece));
  });
  const { socket, saw } = await client();
  for (let other = 0; other < 60; other += 1) {
    await client();
    socket.write('b');
    await eventually(() => expect(came.replaceAll('a', '')).toHaveLength(other + 1));
  }
  await eventually(() => expect(relay.open).toBe(32));
  expect(saw).toEqual([]);
});

test.each([
  ['says that it ends', false],
  ['is cut off', true],
])('a client over TLS sees that a server %s', async (_, isCut) => {
  const raw: Socket[] = [];
  const server = tls.createServer(localhostTls, (socket) => {
    socket.on('error', () => {});
    socket.write(Buffer.alloc(300_000), () => void (isCut ? raw[0]?.end() : socket.end()));
  });
  const { port } = await served(server.on('connection', (socket) => raw.push(socket)));
  const trusted = { ca: localhostTls.cert, servername: 'localhost' };
  const ends: string[] = [];
  await using relay = await Relay.open({
    ...USUAL,
    tls: localhostTls,
    upstream: () => ({ place: local(port), tls: trusted }),
    tap: { ...BLIND, ended: (_, from, how) => ends.push(`${from} ${how}`) },
  });
  const client = watchTlsEnd(tls.connect({ ...local(relay.port), ...trusted }));
  let came = 0;
  client.on('data', (piece: Buffer) => (came += piece.length));
  await once(client, 'end');
  expect([came, isTorn(client), ends[0]]).toEqual([300_000, isCut, isCut ? 'server cut' : 'server end']);
  client.destroy();
});

test('a relay closes without waiting for unfinished TLS handshakes', async () => {
  const relay = await Relay.open({ ...USUAL, tls: localhostTls, upstream: () => ({ place: local(1) }) });
  const client = connect(local(relay.port));
  client.on('error', () => {});
  client.write(Buffer.from([22, 3, 1]));
  await once(client, 'connect');
  await new Promise((resolve) => void setTimeout(resolve, 50));
  const began = performance.now();
  await relay[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(5000);
  client.destroy();
});

test('a relay reports the cause of a failed TLS handshake with either side', async () => {
  const told: string[] = [];
  await using server = await Relay.open({ ...USUAL, tls: localhostTls, upstream: () => ({ place: local(1) }) });
  await using relay = await Relay.open({
    ...USUAL,
    tls: localhostTls,
    upstream: () => ({ place: local(server.port), tls: { servername: 'localhost' } }),
    outages: {
      refused: (why) => told.push(`server: ${why}`),
      reached: () => {},
      handshakeFailed: (why) => told.push(`client: ${why}`),
    },
  });
  for (const secure of [false, true]) {
    const place = local(relay.port);
    const client = secure ? tls.connect({ ...place, ca: localhostTls.cert }) : connect(place);
    client.on('error', () => {});
    client.write('GET / HTTP/1.1\r\n\r\n');
    client.resume();
    await new Promise((resolve) => void client.once('close', resolve));
  }
  expect(told).toEqual([
    expect.stringMatching(/^client: TLS: .*http request/),
    expect.stringMatching(/^server: its certificate is signed by an authority .*--ca FILE/),
  ]);
});

/** Server name with several addresses, for which Node's error has no message. */
const ADDRESSES = ['127.0.0.1', '::1'].map((address, each) => ({ address, family: [4, 6][each] }));
const SEVERAL = {
  host: 'robot.test',
  lookup: (_: string, __: object, found: (error: null, addresses: object[]) => void) => found(null, ADDRESSES),
};

const missing = (): never => {
  throw new Error('no discovery file');
};

test.each<[string, () => Upstream]>([
  ['does not listen', () => ({ place: local(1) })],
  ['listens at none of its addresses', () => ({ place: { ...SEVERAL, port: 1 } })],
  ['is not known', missing],
])('a relay reports a server that %s, and survives a fault of its listener', async (_, upstream) => {
  const told: string[] = [];
  await using relay = await Relay.open({
    ...USUAL,
    upstream,
    outages: {
      refused(why) {
        told.push(why);
        throw new Error('no space');
      },
      reached: () => {},
    },
  });
  for (let client = 0; client < 2; client += 1) {
    const socket = connect(local(relay.port));
    socket.on('error', () => {});
    await new Promise((resolve) => void socket.once('close', resolve));
  }
  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(/ECONNREFUSED|connection refused|no discovery file/);
});
