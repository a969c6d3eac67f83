import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratch } from '../../simulators/common/testing/scratch.ts';
import { localhostTls } from '../common/testing/localhost-tls.ts';
import { Relay, type Upstream } from './relay.ts';
import { Stage } from './testing/transcripts.ts';
import { expectTransparent, KINDS } from './testing/transparency.ts';

test.each(KINDS)('on %s each side sees the same bytes, in the same order, and the same ends', async (kind) => {
  await expectTransparent(kind, 100);
});

test('a fault of what looks at the traffic is told once, and the traffic goes on', async () => {
  using home = scratch();
  await using stage = await Stage.open({ path: join(home.path, 'far') });
  const faults: unknown[] = [];
  const fail = (): never => {
    throw new Error('a fault');
  };
  await using _ = await Relay.open({
    listen: { path: join(home.path, 'near') },
    upstream: () => ({ place: { path: join(home.path, 'far') } }),
    tap: { opened: () => {}, bytes: fail, ended: fail, refused: fail },
    faulty: (error) => faults.push(error),
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

test('the end does not wait for clients whose handshake is not over', async () => {
  const relay = await Relay.open({
    listen: { host: '127.0.0.1', port: 0 },
    tls: localhostTls,
    upstream: () => ({ place: { host: '127.0.0.1', port: 1 } }),
    tap: { opened: () => {}, bytes: () => {}, ended: () => {}, refused: () => {} },
    faulty: () => {},
  });
  const client = connect({ host: '127.0.0.1', port: relay.port });
  client.on('error', () => {});
  client.write(Buffer.from([22, 3, 1]));
  await once(client, 'connect');
  await new Promise((resolve) => void setTimeout(resolve, 50));
  const began = performance.now();
  await relay[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(5000);
  client.destroy();
});

/** Node's error has no message where a name has several addresses. */
const SEVERAL = {
  host: 'robot.test',
  lookup: (_: string, __: object, found: (error: null, addresses: object[]) => void) =>
    found(
      null,
      ['127.0.0.1', '::1'].map((address) => ({ address, family: address === '::1' ? 6 : 4 })),
    ),
};

test.each<[string, () => Upstream]>([
  ['does not listen', () => ({ place: { host: '127.0.0.1', port: 1 } })],
  ['listens at none of its addresses', () => ({ place: { ...SEVERAL, port: 1 } })],
  [
    'is not known',
    () => {
      throw new Error('no discovery file');
    },
  ],
])('a server that %s is told, and a fault of who is told costs nothing', async (_, upstream) => {
  const told: string[] = [];
  await using relay = await Relay.open({
    listen: { host: '127.0.0.1', port: 0 },
    upstream,
    tap: { opened: () => {}, bytes: () => {}, ended: () => {}, refused: () => {} },
    faulty: () => {},
    outages: {
      refused(why) {
        told.push(why);
        throw new Error('no space');
      },
      reached: () => {},
    },
  });
  for (let client = 0; client < 2; client += 1) {
    const socket = connect({ host: '127.0.0.1', port: relay.port });
    socket.on('error', () => {});
    await new Promise((resolve) => void socket.once('close', resolve));
  }
  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(/ECONNREFUSED|connection refused|no discovery file/);
});
