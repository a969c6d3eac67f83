import { rmSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type LiveSubscriber, referenceBehaviour } from '../behaviour.ts';
import { range } from '../log/testing/recorded-disk.ts';
import { robot } from '../testing/robot.ts';

test('a subscriber that does not read delays no other, buffers little, and gets every event later', async () => {
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

test('a subscriber that does not read is dropped when too far behind, and replays after it reconnects', async () => {
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
