import net from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { referenceBehaviour, resolveCursor } from './behaviour.ts';
import type { EventLog } from './log/event-log.ts';
import { disk } from './log/io.ts';
import { drafts, HeldDisk, openQuietly, range } from './log/testing/recorded-disk.ts';
import { LogReader } from './stream/reader.ts';
import { robot, scratch } from './testing/robot.ts';

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
      expect(client.ids).toEqual(range(client.cursor + 1, client.cursor + client.ids.length));
      if (!client.cutOff) expect(client.ids.at(-1) ?? client.cursor).toBe(log.latest);
      if (client.cursor >= log.earliest - 1) expect(client.cutOff).toBe(false);
    }
    await log.close();
  };
  const steps = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' });
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 100 });
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
  using clients = new DisposableStack();
  for (let count = 0; count < REPLAYS; count += 1) {
    const client = clients.adopt(net.connect(on.socket).pause(), (each) => each.destroy());
    client.on('error', () => {});
    client.write('GET /v0.2/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n');
  }
  const { status } = await on.ask('/health');
  const before = replayed;
  expect(status).toBe(200);
  expect(on.device.stats().subscribers).toBeGreaterThan(REPLAYS / 2);
  // Expects the answer before half of the clients have their first portion of about 200 events.
  expect(before).toBeLessThan(REPLAYS * 100);
  await expect.poll(() => replayed, { timeout: 60_000 }).toBeGreaterThan(REPLAYS * 200);
});
