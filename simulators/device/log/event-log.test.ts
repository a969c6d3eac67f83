import { appendFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../common/clock.ts';
import { referenceBehaviour } from '../behaviour.ts';
import { LogReader } from '../stream/reader.ts';
import { scratch } from '../testing/robot.ts';
import { EventLog, EventLogError, type EventLogOptions } from './event-log.ts';
import { type DiskIo, DURABLE, disk } from './io.ts';

const drafts = (count: number, size = 10) =>
  Array.from({ length: count }, () => ({ type: 'deployment.deployed', data: { text: 'x'.repeat(size) } }));

function open(directory: string, options: Partial<EventLogOptions> = {}) {
  const stored: number[] = [];
  const notices: string[] = [];
  const log = new EventLog({
    directory,
    retain: 1_000_000,
    retainBytes: Number.MAX_SAFE_INTEGER,
    durable: false,
    io: disk,
    clock: systemClock,
    behaviour: referenceBehaviour,
    onStored: (events) => stored.push(...events.map(({ id }) => id)),
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  return { log, stored, notices };
}

function idsIn(log: EventLog, after = 0): number[] {
  const reader = new LogReader(log, disk, after);
  const ids: number[] = [];
  for (let portion = reader.read(); portion.length > 0; portion = reader.read()) {
    if (portion === 'overtaken') throw new Error('overtaken');
    ids.push(...portion.map(({ id }) => id));
  }
  reader.close();
  return ids;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('appending', () => {
  test('gives ascending ids, stores one JSON envelope a line, and delivers in order', async () => {
    using home = scratch();
    const { log, stored } = open(home.path);
    const ranges = await Promise.all([log.append(drafts(2)), log.append(drafts(1)), log.append(drafts(3))]);
    expect(ranges).toEqual([
      { first: 1, last: 2 },
      { first: 3, last: 3 },
      { first: 4, last: 6 },
    ]);
    expect(stored).toEqual(range(1, 6));
    const lines = readFileSync(log.path, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(stored);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ object: 'event', type: 'deployment.deployed', data: {} });
    await log.close();
  });

  test('commits what is appended at once with one write to the disk', async () => {
    using home = scratch();
    let stores = 0;
    let others = 0;
    const io: DiskIo = {
      ...disk,
      store: (fd, buffer, position) => {
        stores += 1;
        return disk.store(fd, buffer, position);
      },
      sync: (fd) => {
        others += 1;
        return disk.sync(fd);
      },
      write: (fd, buffer, position) => {
        others += 1;
        disk.write(fd, buffer, position);
      },
    };
    const { log } = open(home.path, { io, durable: true });
    await log.append(drafts(1)); // writes the mark as well
    const before = { stores, others };
    await Promise.all(range(1, 50).map(() => log.append(drafts(1))));
    expect({ stores: stores - before.stores, others: others - before.others }).toEqual({ stores: 1, others: 0 });
    await log.close();
  });

  test('delivers nothing before it is on the disk', async () => {
    using home = scratch();
    const order: string[] = [];
    const io: DiskIo = {
      ...disk,
      open: (path, flags, mode) => {
        if (path.endsWith('.jsonl') && flags !== 'r') order.push(`opened ${(Number(flags) & DURABLE) === DURABLE}`);
        return disk.open(path, flags, mode);
      },
      store: async (fd, buffer, position) => {
        await disk.store(fd, buffer, position);
        order.push('stored');
      },
    };
    const { log } = open(home.path, { io, durable: true, onStored: () => order.push('delivered') });
    await log.append(drafts(1));
    expect(order).toEqual(['opened true', 'stored', 'delivered']);
    await log.close();
  });

  test('keeps nothing for each event in memory: the index has an entry for about 64 KiB', async () => {
    using home = scratch();
    const { log } = open(home.path);
    await log.append(drafts(5_000, 100));
    expect(log.generation.bytes).toBeGreaterThan(900_000);
    expect(log.generation.index.size).toBeLessThanOrEqual(log.generation.bytes / 65_536 + 1);
    expect(idsIn(log, 4_321)).toEqual(range(4_322, 5_000));
    await log.close();
  });
});

describe('a log that cannot be written', () => {
  const full = (): { io: DiskIo; free(): void } => {
    let isFull = true;
    const io: DiskIo = {
      ...disk,
      write: (fd, buffer, position) => {
        if (!isFull) return disk.write(fd, buffer, position);
        disk.write(fd, buffer.subarray(0, buffer.length >> 1), position);
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      },
    };
    return { io, free: () => (isFull = false) };
  };

  test('refuses with a clear error, delivers nothing, and goes on when there is space', async () => {
    using home = scratch();
    const before = open(home.path);
    await before.log.append(drafts(3));
    await before.log.close();
    const { io, free } = full();
    const { log, stored, notices } = open(home.path, { io });
    const results = await Promise.allSettled([log.append(drafts(1)), log.append(drafts(2))]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(log.append(drafts(1))).rejects.toThrow(EventLogError);
    await expect(log.append(drafts(1))).rejects.toThrow(/cannot store events in .*events\.jsonl.*ENOSPC/);
    expect(stored).toEqual([]);
    expect(notices.length).toBeGreaterThan(0);
    free();
    await expect(log.append(drafts(2))).resolves.toEqual({ first: 4, last: 5 });
    expect(stored).toEqual([4, 5]);
    await log.close();
    expect(idsIn(open(home.path).log)).toEqual(range(1, 5));
  });

  test.for(['a torn line', 'no line break', 'an unfinished compaction'])(
    'is opened and read on a disk that takes nothing, although it ends with %s, and repaired when it does',
    async (end) => {
      using home = scratch();
      const before = open(home.path);
      await before.log.append(drafts(3));
      await before.log.close();
      const { path } = before.log;
      if (end === 'a torn line') appendFileSync(path, '{"object":"ev');
      else if (end === 'no line break') truncateSync(path, statSync(path).size - 1);
      else writeFileSync(`${path}.compact`, 'half');
      const found = readFileSync(path, 'utf8');
      let readOnly = true;
      const refuse = () => {
        if (readOnly) throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
      };
      const io: DiskIo = {
        ...disk,
        open: (file, flags, mode) => {
          if (flags !== 'r') refuse();
          return disk.open(file, flags, mode);
        },
        remove: (file) => {
          refuse();
          disk.remove(file);
        },
      };
      const { log, stored } = open(home.path, { io });
      await expect(log.append(drafts(1))).rejects.toThrow(/cannot store events in .*EROFS/);
      expect(stored).toEqual([]);
      expect(idsIn(log).slice(0, 2)).toEqual([1, 2]);
      expect(readFileSync(path, 'utf8')).toBe(found);
      readOnly = false;
      const { last } = await log.append(drafts(1));
      expect(idsIn(log)).toEqual([1, 2, 3, last]);
      await log.close();
      expect(idsIn(open(home.path).log)).toEqual([1, 2, 3, last]);
    },
  );

  test('a disk that fails stores nothing', async () => {
    using home = scratch();
    let fails = false;
    const io: DiskIo = {
      ...disk,
      store: async (fd, buffer, position) => {
        await disk.store(fd, buffer, position);
        if (fails) throw new Error('EIO');
      },
    };
    const { log, stored } = open(home.path, { io, durable: true });
    await log.append(drafts(1));
    fails = true;
    await expect(log.append(drafts(1))).rejects.toThrow(EventLogError);
    fails = false;
    await log.append(drafts(1));
    await log.close();
    const lines = readFileSync(`${home.path}/events.jsonl`, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(stored);
  });
});

test('a log that is removed while nobody writes begins anew, and gives no id twice', async () => {
  using home = scratch();
  const { log, notices } = open(home.path);
  await log.append(drafts(5));
  await log.close();
  const again = open(home.path);
  rmSync(log.path);
  await expect(again.log.append(drafts(2))).resolves.toEqual({ first: 6, last: 7 });
  expect(again.notices.join()).toMatch(/is gone/);
  expect(notices).toEqual([]);
  expect(idsIn(again.log, 5)).toEqual([6, 7]);
  expect(again.log.earliest).toBe(6);
  expect(readFileSync(log.path, 'utf8')).not.toContain('\0');
});

describe('opening', () => {
  test('goes on after a clean stop without a gap', async () => {
    using home = scratch();
    const first = open(home.path);
    await first.log.append(drafts(5));
    await first.log.close();
    const { log } = open(home.path);
    await expect(log.append(drafts(1))).resolves.toEqual({ first: 6, last: 6 });
  });

  test('goes on after a crash without a gap when the log is whole', async () => {
    using home = scratch();
    const first = open(home.path);
    await first.log.append(drafts(5));
    first.log.abandon();
    const { log, notices } = open(home.path);
    expect(notices).toEqual([]);
    await expect(log.append(drafts(1))).resolves.toEqual({ first: 6, last: 6 });
  });

  test.for([true, false])('never gives an id out again when the log was deleted (clean stop: %s)', async (clean) => {
    using home = scratch();
    const first = open(home.path);
    await first.log.append(drafts(5));
    if (clean) await first.log.close();
    else first.log.abandon();
    rmSync(first.log.path);
    const { log } = open(home.path);
    expect(log.latest).toBeGreaterThanOrEqual(5);
    expect(log.earliest).toBe(log.latest + 1);
    expect((await log.append(drafts(1))).first).toBeGreaterThan(5);
  });

  test('cuts a torn line off, over two restarts, and damages nothing written after it', async () => {
    using home = scratch();
    const first = open(home.path);
    await first.log.append(drafts(5));
    first.log.abandon();
    truncateSync(first.log.path, statSync(first.log.path).size - 20);
    const second = open(home.path);
    expect(second.notices.join()).toMatch(/torn line/);
    const { first: next } = await second.log.append(drafts(2));
    expect(next).toBeGreaterThan(5); // a client may have seen 5
    second.log.abandon();
    const third = open(home.path);
    expect(idsIn(third.log)).toEqual([1, 2, 3, 4, next, next + 1]);
  });

  test.for(['crash', 'stop', 'compact and crash', 'compact and stop'])(
    'ids that were given up after damage stay given up, whatever comes first: %s',
    async (first) => {
      using home = scratch();
      const before = open(home.path);
      await before.log.append(drafts(5));
      before.log.abandon();
      truncateSync(before.log.path, statSync(before.log.path).size - 20);
      for (let round = 0; round < 3; round += 1) {
        const { log } = open(home.path);
        expect(log.latest).toBeGreaterThanOrEqual(5);
        if (first.startsWith('compact')) await log.compact();
        if (first.endsWith('stop')) await log.close();
        else log.abandon();
      }
      const { log } = open(home.path);
      expect((await log.append(drafts(1))).first).toBeGreaterThan(5);
    },
  );

  test('ids that were given up do not count as events, so that a crash costs no event that may be kept', async () => {
    using home = scratch();
    const kept: number[] = [];
    for (let crash = 0; crash < 4; crash += 1) {
      const { log } = open(home.path, { retain: 20 });
      expect(log.count).toBe(kept.length);
      const { first } = await log.append(drafts(4));
      expect(idsIn(log)).toEqual([...kept, first, first + 1, first + 2, first + 3]);
      kept.push(first, first + 1, first + 2);
      if (crash % 2 === 0) log.abandon();
      else await log.close();
      truncateSync(log.path, statSync(log.path).size - 20);
    }
    const { log } = open(home.path, { retain: 20 });
    const { last } = await log.append(drafts(9));
    // 80 % of 20 stay.
    expect(idsIn(log)).toEqual([...kept.slice(-7), ...Array.from({ length: 9 }, (_, at) => last - 8 + at)]);
    expect(log.count).toBe(16);
    await log.close();
    expect(open(home.path).log.count).toBe(16);
  });

  test('keeps an event that lacks nothing but its line break', async () => {
    using home = scratch();
    const first = open(home.path);
    await first.log.append(drafts(5));
    await first.log.close();
    truncateSync(first.log.path, statSync(first.log.path).size - 1);
    const { log } = open(home.path);
    await log.append(drafts(1));
    expect(idsIn(log)).toEqual(range(1, 6));
  });

  test('skips lines that are no events, wherever they are', async () => {
    using home = scratch();
    const first = open(home.path);
    await first.log.append(drafts(2));
    appendFileSync(
      first.log.path,
      'not json\n{"object":"event","id":77,"type":"a{"object":"event","id":78}}\n\n\0\0\0\n',
    );
    await first.log.close();
    const { log, notices } = open(home.path);
    expect(notices.join()).toMatch(/unreadable/);
    await log.append(drafts(1));
    const ids = idsIn(log);
    expect(ids.slice(0, 2)).toEqual([1, 2]);
    expect(ids).toHaveLength(3);
  });

  test('a high-water mark that is garbage is as none', async () => {
    using home = scratch();
    const first = open(home.path);
    await first.log.append(drafts(2));
    await first.log.close();
    writeFileSync(`${home.path}/events.mark`, 'garbage');
    const { log } = open(home.path);
    await expect(log.append(drafts(1))).resolves.toEqual({ first: 3, last: 3 });
  });

  test('removes what an unfinished compaction has left', async () => {
    using home = scratch();
    writeFileSync(`${home.path}/events.jsonl.compact`, 'half');
    open(home.path);
    expect(existsSync(`${home.path}/events.jsonl.compact`)).toBe(false);
  });

  test('finds events behind lines that are longer than any buffer', async () => {
    using home = scratch();
    const first = open(home.path);
    for (let at = 0; at < 6; at += 1) await first.log.append(drafts(1, at % 2 === 0 ? 300_000 : 10));
    await first.log.close();
    const { log } = open(home.path);
    expect(log.latest).toBe(6);
    expect(idsIn(log, 2)).toEqual(range(3, 6));
  });
});

describe('compaction', () => {
  test('keeps 80 % of the retention when there are more', async () => {
    using home = scratch();
    const { log } = open(home.path, { retain: 100 });
    await log.append(drafts(100));
    expect(log.earliest).toBe(1);
    await log.append(drafts(1));
    expect([log.earliest, log.latest]).toEqual([22, 101]);
    expect(idsIn(log, 21)).toEqual(range(22, 101));
    await log.close();
    const again = open(home.path, { retain: 100 });
    expect([again.log.earliest, again.log.latest]).toEqual([22, 101]);
  });

  test('bounds the bytes as well', async () => {
    using home = scratch();
    const { log } = open(home.path, { retainBytes: 20_000 });
    for (let at = 0; at < 300; at += 1) {
      await log.append(drafts(1, 400));
      expect(statSync(log.path).size).toBeLessThanOrEqual(20_000);
    }
    expect(log.latest).toBe(300);
    await log.close();
  });

  test('on request leaves 80 %, and never nothing', async () => {
    using home = scratch();
    const { log } = open(home.path);
    await log.append(drafts(10));
    await log.compact();
    expect([log.earliest, log.latest]).toEqual([3, 10]);
    for (let at = 0; at < 20; at += 1) await log.compact();
    expect([log.earliest, log.latest]).toEqual([10, 10]);
    await log.append(drafts(1));
    expect(idsIn(log, 9)).toEqual([10, 11]);
    await log.close();
  });

  test('a reader that began before goes on through any number of them', async () => {
    using home = scratch();
    const { log } = open(home.path, { retain: 3_000 });
    await log.append(drafts(2_500, 100));
    const reader = new LogReader(log, disk, 0);
    const ids: number[] = [];
    for (let portion = reader.read(); portion.length > 0; portion = reader.read()) {
      if (portion === 'overtaken') throw new Error('overtaken');
      ids.push(...portion.map(({ id }) => id));
      if (ids.length < 4_000) await log.append(drafts(60, 100));
    }
    reader.close();
    expect(ids).toEqual(range(1, log.latest));
    expect(log.earliest).toBeGreaterThan(1);
    await log.close();
  });

  test.for(['open', 'write', 'sync', 'rename', 'syncDirectory'] as const)(
    'a crash at %s leaves a whole log with every event',
    async (step) => {
      using home = scratch();
      const first = open(home.path, { retain: 10, durable: true });
      await first.log.append(drafts(10));
      await first.log.close();
      let armed = false;
      const crash = () => {
        if (!armed) return;
        second.log.abandon();
        throw new Error('crashed');
      };
      const io: DiskIo = {
        ...disk,
        open: (path, flags, mode) => {
          if (path.endsWith('.compact')) armed = true;
          if (armed && step === 'open') crash();
          return disk.open(path, flags, mode);
        },
        write: (fd, buffer, position) => {
          if (!armed || step !== 'write') return disk.write(fd, buffer, position);
          disk.write(fd, buffer.subarray(0, 7), position);
          crash();
        },
        sync: async (fd) => (armed && step === 'sync' ? crash() : disk.sync(fd)),
        rename: (from, to) => {
          if (!armed || step !== 'rename') disk.rename(from, to);
          else crash();
        },
        syncDirectory: async (path) => (armed && step === 'syncDirectory' ? crash() : disk.syncDirectory(path)),
      };
      const second = open(home.path, { io, retain: 10, durable: true });
      await second.log.append(drafts(1)).catch(() => undefined);
      second.log.abandon();
      expect(armed).toBe(true);
      const third = open(home.path);
      expect(third.log.latest).toBe(11);
      const ids = idsIn(third.log, third.log.earliest - 1);
      expect(ids).toEqual(range(third.log.earliest, 11));
      expect(third.log.earliest).toBe(step === 'syncDirectory' ? 4 : 1);
      expect(existsSync(`${home.path}/events.jsonl.compact`)).toBe(false);
    },
  );

  test('one that fails leaves the log as it is', async () => {
    using home = scratch();
    const io: DiskIo = {
      ...disk,
      rename: (from, to) => {
        if (from.endsWith('.compact')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        disk.rename(from, to);
      },
    };
    const { log, notices } = open(home.path, { io, retain: 10 });
    await log.append(drafts(11));
    await log.append(drafts(1));
    expect(notices.join()).toMatch(/cannot compact/);
    expect(idsIn(log)).toEqual(range(1, 12));
    await log.close();
  });
});
