/** Tests the device in long runs with kills, competing locks, compactions and slow replays. */

import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { referenceBehaviour } from './behaviour.ts';
import { Client, connectDuringCompaction, gap, HeldDisk, openQuietly, raceProperty } from './log/testing/race.ts';
import { drafts } from './log/testing/recorded-disk.ts';
import { killLoop } from './testing/kill-loop.ts';
import { contest } from './testing/lock-contest.ts';
import { robot, scratch } from './testing/robot.ts';

test('an agent that is killed under load loses and renumbers no event that a client saw', async () => {
  const { problems, kills, seen, acknowledged } = await killLoop({ rounds: 20, seed: 1 });
  expect(problems).toEqual([]);
  expect(kills).toBe(20);
  expect(seen).toBeGreaterThan(100);
  expect(acknowledged).toBeGreaterThan(100);
});

test('of many processes that find a dead owner, one takes its place', async () => {
  expect(await contest({ processes: 4, rounds: 200, killEvery: 20 })).toEqual([]);
});

test('in any order of appends, compactions, disk and slow readers, no client unknowingly misses an event', async () => {
  await fc.assert(raceProperty(), { numRuns: 100 });
});

test.for(['os', 'sync'] as const)('clients that connect during a compaction miss nothing, %s', async (durability) => {
  expect(await connectDuringCompaction(durability, 30)).toBeGreaterThan(30);
});

test('a reader that begins at any step of a compaction gets every event after its cursor', async () => {
  using home = scratch();
  const slow = new HeldDisk();
  const log = openQuietly(home.path, slow.io, 1_000_000);
  const appending = log.append(drafts(1_000, 200));
  await slow.letAllGo();
  await appending;
  slow.held = true;
  const compacting = log.compact();
  await turn();
  const clients: Client[] = [];
  let steps = 0;
  do {
    steps += 1;
    for (const cursor of [0, 100, 199, 200, 201, 600, 999, 1_000]) {
      const client = new Client(log, cursor);
      client.read();
      clients.push(client, new Client(log, cursor));
    }
  } while (await slow.letGo());
  await slow.letAllGo();
  await compacting;
  expect(steps).toBeGreaterThanOrEqual(3);
  expect(log.earliest).toBe(201);
  for (const client of clients) {
    client.readAll();
    expect(gap(client.cursor, client.ids)).toBe('');
    if (!client.cutOff) expect(client.ids.at(-1) ?? client.cursor).toBe(1_000);
    if (client.cursor >= 200) expect(client.cutOff).toBe(false);
  }
  await log.close();
});

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
    // Expects the answer before half of the clients have their first portion of about 200 events.
    expect(before).toBeLessThan(REPLAYS * 100);
    await expect.poll(() => replayed, { timeout: 60_000 }).toBeGreaterThan(REPLAYS * 200);
  } finally {
    for (const client of clients) client.destroy();
  }
});
