import { readdirSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isBesideName } from '../../../harness/common/user-files.ts';
import { LogReader } from '../stream/reader.ts';
import { scratch, useScratch } from '../testing/robot.ts';
import { disk } from './io.ts';
import { diskWith, drafts, HeldDisk, idsIn, opened, openQuietly, range, systemError } from './testing/recorded-disk.ts';

const home = useScratch();

test('compaction keeps 80 % of the retention when the log exceeds it', async () => {
  const { log } = opened(home.path, { retain: 100 });
  await log.append(drafts(100));
  expect(log.earliest).toBe(1);
  await log.append(drafts(1));
  expect([log.earliest, log.latest]).toEqual([22, 101]);
  expect(idsIn(log, 21)).toEqual(range(22, 101));
  await log.close();
  const again = opened(home.path, { retain: 100 });
  expect([again.log.earliest, again.log.latest]).toEqual([22, 101]);
});

test('compaction keeps the log file within its limit of bytes', async () => {
  const { log } = opened(home.path, { retainBytes: 20_000 });
  for (let at = 0; at < 300; at += 1) {
    await log.append(drafts(1, 400));
    expect(statSync(log.path).size).toBeLessThanOrEqual(20_000);
  }
  expect(log.latest).toBe(300);
});

test('compaction on request keeps 80 % of the events, and at least one', async () => {
  const { log } = opened(home.path);
  await log.append(drafts(10));
  await log.compact();
  expect([log.earliest, log.latest]).toEqual([3, 10]);
  for (let at = 0; at < 20; at += 1) await log.compact();
  expect([log.earliest, log.latest]).toEqual([10, 10]);
  await log.append(drafts(1));
  expect(idsIn(log, 9)).toEqual([10, 11]);
});

test('compaction keeps serving every event to a reader that began earlier', async () => {
  const { log } = opened(home.path, { retain: 3_000 });
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
});

test('compaction leaves the log unchanged when it fails', async () => {
  const io = diskWith({
    rename: (_from, to) => {
      if (to.endsWith('events.jsonl')) throw systemError('EIO');
    },
  });
  const { log, notices } = opened(home.path, { io, retain: 10 });
  await log.append(drafts(11));
  await log.append(drafts(1));
  expect(notices.join()).toMatch(/cannot compact/);
  expect(idsIn(log)).toEqual(range(1, 12));
  await expect(log.compact()).rejects.toThrow(/cannot compact .*\(EIO\); no event is lost/);
  await log.append(drafts(1));
  expect(idsIn(log)).toEqual(range(1, 13));
});

test.for([4_000, 100])(
  'compaction on a full disk keeps the newest events that fit, or all (%s bytes)',
  async (room) => {
    let left = Number.POSITIVE_INFINITY;
    const io = diskWith({
      remove: () => {
        left = room;
      },
      store: (fd, buffer, position) => {
        const fits = Math.min(left, buffer.length);
        left -= fits;
        if (fits === buffer.length) return;
        disk.write(fd, buffer.subarray(0, fits), position);
        throw systemError('ENOSPC');
      },
    });
    const { log, notices } = opened(home.path, { io, durable: true });
    await log.append(drafts(200, 100));
    left = room;
    await expect(log.append(drafts(40, 100))).rejects.toThrow(/ENOSPC/);
    left = room;
    notices.splice(0);
    if (room === 100) {
      await expect(log.compact()).rejects.toThrow(/cannot compact .*ENOSPC.*no event is lost/);
      expect(log.earliest).toBe(1);
    } else {
      await log.compact();
      expect([log.earliest, log.latest]).toEqual([191, 200]);
      expect(notices).toEqual([]);
    }
    expect(idsIn(log, log.earliest - 1)).toEqual(range(log.earliest, 200));
    expect(readdirSync(home.path).filter(isBesideName)).toEqual([]);
  },
);

test('compaction does not delay another robot while its own disk is slow', async () => {
  using elsewhere = scratch();
  const slow = new HeldDisk();
  slow.held = false;
  const held = openQuietly(home.path, slow.io, 1_000_000);
  await held.append(drafts(4_000, 200));
  slow.held = true;
  let over = false;
  const compacting = held.compact().finally(() => {
    over = true;
  });
  const { log: other } = opened(elsewhere.path, { durable: true });
  await other.append(drafts(100));
  await other.compact();
  expect(idsIn(held)).toEqual(range(1, 4_000));
  expect(over).toBe(false);
  let waits = 0;
  while (await slow.letGo()) waits += 1;
  // Compaction copies the log in portions, and waits for the disk after each portion.
  expect(waits).toBeGreaterThan(3);
  await slow.letAllGo();
  await compacting;
  expect(held.earliest).toBe(801);
  await Promise.all([held.close(), other.close()]);
});
