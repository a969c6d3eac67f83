import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { referenceBehaviour, resolveCursor } from './behaviour.ts';
import type { EventLog } from './log/event-log.ts';
import { disk } from './log/io.ts';
import { drafts, HeldDisk, openQuietly } from './log/testing/recorded-disk.ts';
import { LogReader } from './stream/reader.ts';
import { contest } from './testing/lock-contest.ts';
import { Refused, robot, scratch } from './testing/robot.ts';

test('exactly one of many processes takes over the lock of a dead owner', async () => {
  expect(await contest({ processes: 4, rounds: 200, killEvery: 20 })).toEqual([]);
});

class Client {
  readonly cursor: number;
  readonly ids: number[] = [];
  readonly #reader: LogReader | undefined;
  /** True after a 410 response or an overtaken read. */
  cutOff: boolean;

  constructor(log: EventLog, cursor: number) {
    const after = resolveCursor(cursor, log);
    this.cursor = cursor;
    this.cutOff = after === 'expired';
    this.#reader = after === 'expired' ? undefined : new LogReader(log, disk, after);
  }

  read(): boolean {
    const portion = this.cutOff ? [] : (this.#reader?.read() ?? []);
    if (portion === 'overtaken') this.cutOff = true;
    else this.ids.push(...portion.map(({ id }) => id));
    return portion.length > 0;
  }

  readAll(): void {
    while (this.read());
    this.#reader?.close();
  }
}

function gap(cursor: number, ids: readonly number[]): string {
  const at = ids.findIndex((id, index) => id !== cursor + 1 + index);
  return at < 0 ? '' : `after ${ids[at - 1] ?? `the cursor ${cursor}`} came ${ids[at]}`;
}

const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 300 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('let go' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('connect' as const), back: fc.nat({ max: 900 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('read' as const), which: fc.nat({ max: 30 }) }) },
);

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

test('clients miss events only when cut off, in any order of operations', async () => {
  const run = async (steps: readonly Step[]): Promise<void> => {
    using home = scratch();
    const slow = new HeldDisk();
    const log = openQuietly(home.path, slow.io, 500);
    const clients: Client[] = [];
    const pending: Promise<unknown>[] = [];
    for (const now of steps) {
      if (now.do === 'append') pending.push(log.append(drafts(now.count, 200)));
      else if (now.do === 'compact') pending.push(log.compact());
      else if (now.do === 'let go') await slow.letGo();
      else if (now.do === 'connect') clients.push(new Client(log, Math.max(0, log.latest - now.back)));
      else if (clients.length > 0) clients[now.which % clients.length]?.read();
    }
    await slow.letAllGo();
    await Promise.all(pending);
    for (const client of clients) {
      client.readAll();
      expect(gap(client.cursor, client.ids)).toBe('');
      if (!client.cutOff) expect(client.ids.at(-1) ?? client.cursor).toBe(log.latest);
    }
    await log.close();
  };
  const steps = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' });
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 100 });
});

test.for(['os', 'sync'] as const)('streams opened during a compaction have no gap: %s', async (durability) => {
  await using on = await robot({ durability, retain: 1_500 });
  let { last_id: last } = await on.device.publish(1_500);
  let served = 0;
  for (let round = 0; round < 30; round += 1) {
    const publishing = on.device.publish(400);
    const cursors = [last - 1_150, last - 1_000, last - 500, last - 1];
    const answers = await Promise.allSettled(cursors.map((id) => on.listen('', { 'Last-Event-ID': String(id) })));
    last = (await publishing).last_id;
    for (const [at, answer] of answers.entries()) {
      if (answer.status === 'rejected') {
        expect(answer.reason).toEqual(new Refused(410));
        continue;
      }
      const { value: stream } = answer;
      await Promise.race([stream.ended, stream.reach(last)]).catch(() => undefined);
      expect(gap(cursors[at] ?? 0, stream.ids)).toBe('');
      if (!stream.over) expect(stream.ids.at(-1)).toBe(last);
      stream.close();
      served += 1;
    }
  }
  expect(served).toBeGreaterThan(30);
});

test('a reader opened at any step of a compaction gets every retained event', async () => {
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

test('a request is answered before hundreds of earlier replays have finished', async () => {
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
