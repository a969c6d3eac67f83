/** Clients that read a log during compactions, for tests that no client loses events silently. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect } from 'vitest';
import { resolveCursor } from '../../stream/protocol.ts';
import { LogReader } from '../../stream/reader.ts';
import { Refused, robot, scratch } from '../../testing/robot.ts';
import type { EventLog } from '../event-log.ts';
import { type DiskIo, disk } from '../io.ts';
import { drafts, open } from './recorded-disk.ts';

export class HeldDisk {
  readonly #waiting: (() => void)[] = [];
  held = true;
  readonly io: DiskIo = {
    ...disk,
    load: async (fd, buffer, offset, length, position) => {
      await this.#wait();
      return disk.read(fd, buffer, offset, length, position);
    },
    sync: () => this.#wait(),
    syncDirectory: () => this.#wait(),
    store: (fd, buffer, position) => {
      disk.write(fd, buffer, position);
      return this.#wait();
    },
  };

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

export class Client {
  readonly cursor: number;
  readonly ids: number[] = [];
  readonly #reader: LogReader | undefined;
  /** True after an expired cursor or an overtaken read, because the client then knows of lost events. */
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

export function openQuietly(directory: string, io: DiskIo, retain: number): EventLog {
  const onNotice = (notice: string): never => {
    throw new Error(notice);
  };
  return open(directory, { io, retain, durable: true, onNotice }).log;
}

/** Describes the first gap in the ids after `cursor`; '' without a gap. */
export function gap(cursor: number, ids: readonly number[]): string {
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

export function raceProperty() {
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
  return fc.asyncProperty(steps, run);
}

export async function connectDuringCompaction(durability: 'os' | 'sync', rounds: number): Promise<number> {
  await using on = await robot({ durability, retain: 1_500 });
  let { last_id: last } = await on.device.publish(1_500);
  let served = 0;
  for (let round = 0; round < rounds; round += 1) {
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
  return served;
}
