import { appendFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { useScratch } from '../testing/robot.ts';
import { type DiskIo, DURABLE, disk, EventLogError } from './io.ts';
import { diskWith, drafts, idsIn, leftLog, opened, range, systemError } from './testing/recorded-disk.ts';

const home = useScratch();

test('appending stores simultaneous appends with one durable write', async () => {
  const done = { stores: 0, others: 0 };
  const count = (kind: keyof typeof done) => (): void => {
    done[kind] += 1;
  };
  const io = diskWith({ store: count('stores'), sync: count('stores'), write: count('others') });
  const { log } = opened(home.path, { io, durable: true });
  await log.append(drafts(1)); // writes the mark as well
  const before = { ...done };
  await Promise.all(range(1, 50).map(() => log.append(drafts(1))));
  // One durable write for all 50 appends, and one write for the last id.
  expect(done).toEqual({ stores: before.stores + 1, others: before.others + 1 });
});

test('appending delivers an event only after it is on the disk', async () => {
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
  const { log } = opened(home.path, { io, durable: true, onStored: () => order.push('delivered') });
  await log.append(drafts(1));
  expect(order).toEqual(['opened true', 'stored', 'delivered']);
});

test('appending keeps at most one index entry per 64 KiB of log', async () => {
  const { log } = opened(home.path);
  await log.append(drafts(5_000, 100));
  expect(log.generation.bytes).toBeGreaterThan(900_000);
  expect(log.generation.index.size).toBeLessThanOrEqual(log.generation.bytes / 65_536 + 1);
  expect(idsIn(log, 4_321)).toEqual(range(4_322, 5_000));
});

test('a closed log has stored every append before it, even one that came during a compaction', async () => {
  let appended: Promise<unknown> | undefined;
  let closed: Promise<void> | undefined;
  const rename = (_from: string, to: string): void => {
    if (!to.endsWith('.jsonl')) return;
    appended ??= log.append(drafts(1));
    closed ??= log.close();
  };
  const { log } = opened(home.path, { io: diskWith({ rename }) });
  await log.append(drafts(10));
  await log.compact();
  await closed;
  expect(await appended).toEqual({ first: 11, last: 11 });
  expect(idsIn(opened(home.path).log).at(-1)).toBe(11);
});

test('a full log rejects appends with a clear error, and stores them once there is space', async () => {
  await leftLog(home.path, 3, 'stop');
  let isFull = true;
  const io = diskWith({
    write: (fd, buffer, position) => {
      if (!isFull) return;
      disk.write(fd, buffer.subarray(0, buffer.length >> 1), position);
      throw systemError('ENOSPC');
    },
  });
  const { log, stored, notices } = opened(home.path, { io });
  const results = await Promise.allSettled([log.append(drafts(1)), log.append(drafts(2))]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(log.append(drafts(1))).rejects.toThrow(EventLogError);
  await expect(log.append(drafts(1))).rejects.toThrow(/cannot store events in .*events\.jsonl.*ENOSPC/);
  expect(stored).toEqual([]);
  expect(notices.length).toBeGreaterThan(0);
  isFull = false;
  await expect(log.append(drafts(2))).resolves.toEqual({ first: 4, last: 5 });
  expect(stored).toEqual([4, 5]);
  await log.close();
  expect(idsIn(opened(home.path).log)).toEqual(range(1, 5));
});

test.for(['a torn line', 'no line break', 'an unfinished compaction'])(
  'a log is read on a read-only disk despite %s, and repaired once writable',
  async (end) => {
    const path = await leftLog(home.path, 3, 'stop');
    if (end === 'a torn line') appendFileSync(path, '{"object":"ev');
    else if (end === 'no line break') truncateSync(path, statSync(path).size - 1);
    else writeFileSync(`${path}.compact`, 'half');
    const found = readFileSync(path, 'utf8');
    let readOnly = true;
    const refuse = (_path: string, flags?: string | number): void => {
      if (readOnly && flags !== 'r') throw systemError('EROFS');
    };
    const io = diskWith({ open: refuse, remove: refuse });
    const { log, stored } = opened(home.path, { io });
    await expect(log.append(drafts(1))).rejects.toThrow(/cannot store events in .*EROFS/);
    expect(stored).toEqual([]);
    expect(idsIn(log).slice(0, 2)).toEqual([1, 2]);
    expect(readFileSync(path, 'utf8')).toBe(found);
    readOnly = false;
    const { last } = await log.append(drafts(1));
    expect(idsIn(log)).toEqual([1, 2, 3, last]);
    await log.close();
    expect(idsIn(opened(home.path).log)).toEqual([1, 2, 3, last]);
  },
);

test('a log removed between two writes starts anew, and reuses no id', async () => {
  const path = await leftLog(home.path, 5, 'stop');
  const { log, notices } = opened(home.path);
  rmSync(path);
  await expect(log.append(drafts(2))).resolves.toEqual({ first: 6, last: 7 });
  expect(notices.join()).toMatch(/is missing/);
  expect(idsIn(log, 5)).toEqual([6, 7]);
  expect(log.earliest).toBe(6);
  expect(readFileSync(path, 'utf8')).not.toContain('\0');
});
