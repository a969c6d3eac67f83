import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { besideName } from '../../../harness/common/user-files.ts';
import { useScratch } from '../testing/robot.ts';
import { diskWith, drafts, idsIn, leftLog, opened, range, systemError } from './testing/recorded-disk.ts';

const home = useScratch();

test('opening does not count skipped ids as events, so a crash evicts no retained event', async () => {
  const kept: number[] = [];
  for (let crash = 0; crash < 4; crash += 1) {
    const { log } = opened(home.path, { retain: 20 });
    expect(log.count).toBe(kept.length);
    const { first } = await log.append(drafts(4));
    expect(idsIn(log)).toEqual([...kept, first, first + 1, first + 2, first + 3]);
    kept.push(first, first + 1, first + 2);
    if (crash % 2 === 0) log.abandon();
    else await log.close();
    truncateSync(log.path, statSync(log.path).size - 20);
  }
  const { log } = opened(home.path, { retain: 20 });
  const { last } = await log.append(drafts(9));
  // Compaction keeps 80 % of 20 events: 7 old and 9 new.
  expect(idsIn(log)).toEqual([...kept.slice(-7), ...Array.from({ length: 9 }, (_, at) => last - 8 + at)]);
  expect(log.count).toBe(16);
  await log.close();
  expect(opened(home.path).log.count).toBe(16);
});

test('opening skips the reserved block of ids after a crash of a log without durability', async () => {
  await leftLog(home.path, 300, 'kill');
  const { log, notices } = opened(home.path);
  expect(notices.join()).toMatch(/ids up to 1324 may have been given out/);
  await expect(log.append(drafts(1))).resolves.toEqual({ first: 1325, last: 1325 });
  expect(idsIn(log)).toEqual([...range(1, 300), 1325]);
  expect(log.count).toBe(301);
});

test('opening loses no event and notifies once if the last id cannot be written', async () => {
  const io = diskWith({
    open: (path) => {
      if (path.endsWith('events.last')) throw systemError('EIO');
    },
  });
  const { log, stored, notices } = opened(home.path, { io, durable: true });
  for (let at = 0; at < 3; at += 1) await log.append(drafts(1));
  expect(stored).toEqual([1, 2, 3]);
  expect(notices).toHaveLength(1);
});

test('opening removes leftovers of an unfinished compaction, and no other file', async () => {
  writeFileSync(besideName(`${home.path}/events.jsonl`), 'half');
  symlinkSync('sets/1', besideName(`${home.path}/root`));
  const others = ['events.jsonl.compact', 'events.mark.new', 'notes'];
  for (const other of others) writeFileSync(`${home.path}/${other}`, 'mine');
  mkdirSync(`${home.path}/.muster-0123456789abcdef01234567`);
  opened(home.path);
  expect(readdirSync(home.path).toSorted()).toEqual(['.muster-0123456789abcdef01234567', ...others]);
});

test('opening refuses a log that is a symbolic link, and leaves its target unchanged', async () => {
  writeFileSync(`${home.path}/victim`, 'precious');
  mkdirSync(`${home.path}/robot`);
  symlinkSync('../victim', `${home.path}/robot/events.jsonl`);
  expect(() => opened(`${home.path}/robot`)).toThrow(/events\.jsonl is not a file/);
  expect(readFileSync(`${home.path}/victim`, 'utf8')).toBe('precious');
});

test('opening finds events behind lines that are longer than the buffer', async () => {
  const first = opened(home.path);
  for (let at = 0; at < 6; at += 1) await first.log.append(drafts(1, at % 2 === 0 ? 300_000 : 10));
  await first.log.close();
  const { log } = opened(home.path);
  expect(log.latest).toBe(6);
  expect(idsIn(log, 2)).toEqual(range(3, 6));
});
