/** Readers and compactions that meet at any moment: whoever is served gets every event after the cursor, or is told. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from '../../common/clock.ts';
import { referenceBehaviour } from '../behaviour.ts';
import { resolveCursor } from '../stream/protocol.ts';
import { LogReader } from '../stream/reader.ts';
import { robot, scratch } from '../testing/robot.ts';
import { Refused } from '../testing/stream.ts';
import { EventLog } from './event-log.ts';
import { type DiskIo, disk } from './io.ts';

/** A disk on which whatever waits for it goes on waiting until it is told. */
class HeldDisk {
  readonly #waiting: (() => void)[] = [];
  held = true;
  readonly io: DiskIo = {
    ...disk,
    sync: () => this.#wait(),
    syncDirectory: () => this.#wait(),
    store: (fd, buffer, position) => {
      disk.write(fd, buffer, position);
      return this.#wait();
    },
  };

  /** Lets the oldest go, and everything that follows from it up to the next wait. */
  async letGo(): Promise<boolean> {
    const [oldest] = this.#waiting.splice(0, 1);
    oldest?.();
    await turn();
    return oldest !== undefined;
  }

  async letAllGo(): Promise<void> {
    this.held = false;
    while (await this.letGo());
  }

  #wait(): Promise<void> {
    return this.held ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }
}

const drafts = (count: number) =>
  Array.from({ length: count }, () => ({ type: 'deployment.deployed', data: { text: 'x'.repeat(200) } }));

/** A client with a cursor, as `GET /events` serves it. */
class Client {
  readonly cursor: number;
  readonly ids: number[] = [];
  readonly #reader: LogReader | undefined;
  /** Refused with 410, or cut off later. */
  told: boolean;

  constructor(log: EventLog, cursor: number) {
    const after = resolveCursor(cursor, log);
    this.cursor = cursor;
    this.told = after === 'expired';
    this.#reader = after === 'expired' ? undefined : new LogReader(log, disk, after);
  }

  /** One portion. False when there was none. */
  read(): boolean {
    const portion = this.told ? [] : (this.#reader?.read() ?? []);
    if (portion === 'overtaken') this.told = true;
    else this.ids.push(...portion.map(({ id }) => id));
    return portion.length > 0;
  }

  readAll(): void {
    while (this.read());
    this.#reader?.close();
  }
}

function open(directory: string, io: DiskIo, retain: number): EventLog {
  const fails = (notice: string): never => {
    throw new Error(notice);
  };
  return new EventLog({
    directory,
    retain,
    retainBytes: Number.MAX_SAFE_INTEGER,
    durable: true,
    io,
    clock: systemClock,
    behaviour: referenceBehaviour,
    onStored: () => {},
    onNotice: fails,
  });
}

/** What is wrong with these ids, which are to follow the cursor one by one; '' when nothing is. */
function gap(cursor: number, ids: readonly number[]): string {
  const at = ids.findIndex((id, index) => id !== cursor + 1 + index);
  return at < 0 ? '' : `after ${ids[at - 1] ?? `the cursor ${cursor}`} came ${ids[at]}`;
}

test('a reader that begins at any step of a compaction gets every event after its cursor', async () => {
  using home = scratch();
  const slow = new HeldDisk();
  const log = open(home.path, slow.io, 1_000_000);
  const appending = log.append(drafts(1_000));
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
      // The other one begins to read when everything is over.
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
    if (!client.told) expect(client.ids.at(-1) ?? client.cursor).toBe(1_000);
    if (client.cursor >= 200) expect(client.told).toBe(false);
  }
  await log.close();
});

type Step =
  | { do: 'append'; count: number }
  | { do: 'compact' }
  | { do: 'let go' }
  | { do: 'connect'; back: number }
  | { do: 'read'; which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 300 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('let go' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('connect' as const), back: fc.nat({ max: 900 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('read' as const), which: fc.nat({ max: 30 }) }) },
);

test('in any order of appends, compactions, disk and slow readers, nobody misses an event unseen', async () => {
  const run = async (steps: readonly Step[]): Promise<void> => {
    using home = scratch();
    const slow = new HeldDisk();
    const log = open(home.path, slow.io, 500);
    const clients: Client[] = [];
    const pending: Promise<unknown>[] = [];
    for (const now of steps) {
      if (now.do === 'append') pending.push(log.append(drafts(now.count)));
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
      if (!client.told) expect(client.ids.at(-1) ?? client.cursor).toBe(log.latest);
    }
    await log.close();
  };
  const steps = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' });
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 100 });
});

test.for(['os', 'sync'] as const)('clients that connect while the log is compacted, %s', async (durability) => {
  await using on = await robot({ durability, retain: 1_500 });
  let { last_id: last } = await on.device.publish(1_500);
  let served = 0;
  for (let round = 0; round < 30; round += 1) {
    const publishing = on.device.publish(400);
    const cursors = [last - 1_150, last - 1_000, last - 500, last - 1];
    const answers = await Promise.allSettled(
      cursors.map((cursor) => on.listen('', { 'Last-Event-ID': String(cursor) })),
    );
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
