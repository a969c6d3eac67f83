/** Thousands of replays whose clients do not read: what they cost a client that only asks for the health. */
import net from 'node:net';
import { expect, test } from 'vitest';
import { referenceBehaviour } from '../behaviour.ts';
import { robot } from '../testing/robot.ts';

const REPLAYS = 400;
const EVENTS = 1_000;

test('a request is answered before the replays of hundreds of clients that came first', async () => {
  let replayed = 0;
  const { stream } = referenceBehaviour;
  const frame: typeof stream.frame = (event) => {
    replayed += 1;
    return stream.frame(event);
  };
  await using on = await robot({
    durability: 'os',
    behaviour: { ...referenceBehaviour, stream: { ...stream, frame } },
  });
  await on.device.publish(EVENTS);
  replayed = 0;
  const clients = Array.from({ length: REPLAYS }, () => {
    const client = net.connect(on.socket).pause();
    client.on('error', () => {});
    client.write('GET /v0.2/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n');
    return client;
  });
  try {
    const { status } = await on.ask('/health');
    const before = replayed;
    expect(status).toBe(200);
    expect(on.device.stats().subscribers).toBeGreaterThan(REPLAYS / 2);
    // A portion has some 200 events. One for each client that came first is what a turn for everybody would cost.
    expect(before).toBeLessThan(REPLAYS * 100);
    // They go on when nobody else wants something, to the last one.
    await expect.poll(() => replayed, { timeout: 60_000 }).toBeGreaterThan(REPLAYS * 200);
  } finally {
    for (const client of clients) client.destroy();
  }
});
