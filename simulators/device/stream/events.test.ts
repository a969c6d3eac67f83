import { rmSync, statSync } from 'node:fs';
import net from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../common/testing/scratch.ts';
import { type LiveSubscriber, referenceBehaviour } from '../behaviour.ts';
import { range } from '../log/testing/recorded-disk.ts';
import { robot } from '../testing/robot.ts';

describe('the stream', () => {
  test('carries any text in an event', async () => {
    await using on = await robot({ durability: 'os' });
    const stream = await on.listen();
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 200 }),
      fc.constantFrom('\n\n', '\r\n', '\r', '\u2028\u2029', '\ud800', '"\\', '😀'.repeat(9_000), 'x'.repeat(70_000)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        const { id, release_id } = await on.device.deploy({ release_id: `rls_${value}` });
        await stream.until(() => stream.events.some(({ envelope }) => holds(envelope.data, id)));
        const event = stream.events.find(({ type, envelope }) => type.endsWith('deployed') && holds(envelope.data, id));
        // UTF-8 cannot encode a lone surrogate, which the stream must escape.
        expect(event?.envelope.data).toMatchObject({ release_id });
      }),
      { numRuns: 40 },
    );
  });
});

function rawClient(path: string) {
  const socket = net.connect(path);
  const client = {
    socket,
    text: '',
    closed: new Promise<void>((resolve) => socket.once('close', () => resolve())),
    until: async (part: string): Promise<void> => {
      const arrived = Promise.withResolvers<void>();
      const look = () => {
        if (client.text.includes(part)) arrived.resolve();
      };
      socket.on('data', look);
      look();
      await Promise.race([arrived.promise, client.closed]);
    },
  };
  socket.on('data', (bytes) => (client.text += bytes));
  return client;
}

const holds = (data: object, id: string): boolean => 'deployment_id' in data && data.deployment_id === id;

describe('a subscriber that does not read', () => {
  test('delays no other subscriber, buffers little, and gets every event once it reads', async () => {
    const subscribers = new Set<LiveSubscriber>();
    const { stream: rules } = referenceBehaviour;
    const recipients: typeof rules.recipients = (live) => {
      for (const subscriber of live) subscribers.add(subscriber);
      return live;
    };
    const behaviour = { ...referenceBehaviour, stream: { ...rules, recipients } };
    await using on = await robot({ durability: 'os', retain: 100_000, subscriberBytes: 1e9, behaviour });
    const slow = await on.listen('?after=0');
    slow.stall();
    const quick = await on.listen('?after=0');
    for (let round = 0; round < 20; round += 1) await on.device.publish(1_000);
    await quick.reach(20_000);
    expect(statSync(on.device.info().event_log ?? '').size).toBeGreaterThan(5_000_000);
    // Each subscriber may exceed the buffer by at most one batch of 1000 events.
    const waiting = [...subscribers].map((subscriber) => subscriber.waiting);
    expect(waiting).toHaveLength(2);
    expect(Math.max(...waiting)).toBeLessThan(rules.liveBufferBytes + 1_000 * 500);
    slow.resume();
    await slow.reach(20_000);
    expect(slow.ids).toEqual(range(1, 20_000));
  });

  test('is dropped when it is too far behind, and replays after it reconnects', async () => {
    await using on = await robot({ durability: 'os', retain: 100_000, subscriberBytes: 100_000 });
    const slow = await on.listen('?after=0');
    await on.device.publish(1);
    await slow.reach(1);
    slow.stall();
    for (let round = 0; round < 20; round += 1) await on.device.publish(500);
    expect(on.device.stats().subscribers).toBe(0);
    slow.resume();
    await slow.ended;
    const seen = slow.ids;
    const again = await on.listen(`?after=${seen.at(-1)}`);
    await again.reach(10_001);
    expect([...seen, ...again.ids]).toEqual(range(1, 10_001));
  });
});

test('a stream ends when its log cannot be read, and other requests still work', async () => {
  await using on = await robot();
  await on.device.publish(5);
  const live = await on.listen();
  await on.device.stop();
  await on.device.start();
  await live.ended;
  rmSync(on.device.info().event_log ?? '');
  const stream = await on.listen('?after=0');
  await stream.ended;
  expect(stream.events).toEqual([]);
  expect((await on.ask('/health')).status).toBe(200);
});

test('a stream has no gap when compaction overtakes its cursor after the answer', async () => {
  await using on = await robot({ retain: 100 });
  await on.device.publish(100);
  // Sends both requests together, so that the agent checks the cursor before the compaction.
  const client = rawClient(on.socket);
  const get = (path: string) => `GET /v0.2${path} HTTP/1.1\r\nHost: device\r\n\r\n`;
  client.socket.write(`${get('/health')}${get('/events?after=0')}`);
  await on.device.compact();
  await on.device.publish(90);
  await client.until('id: 190\n');
  const ids = [...client.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(range(1, ids.length));
  client.socket.destroy();
  await client.closed;
});

test('an HTTP/1.0 client gets a body without chunks that ends with the connection', async () => {
  await using on = await robot();
  await on.device.publish(1);
  const client = rawClient(on.socket);
  client.socket.write('GET /v0.2/events?after=0 HTTP/1.0\r\n\r\n');
  await client.until('data: ');
  expect(client.text).toMatch(/\r\n\r\n: heartbeat\n\nid: 1\nevent: deployment\.deployed\ndata: \{/);
  await on.device.stop();
  await client.closed;
});
