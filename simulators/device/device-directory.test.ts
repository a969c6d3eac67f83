import { existsSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { expect, test } from 'vitest';
import { DirectoryInUseError, lockDirectory } from './device-directory.ts';
import { simulateDevice } from './index.ts';
import { SupervisedDevice } from './process/supervisor.ts';
import { contest } from './testing/lock-contest.ts';
import { robot, useScratch } from './testing/robot.ts';

const home = useScratch();

test('a directory refuses a second device of any process, and the first keeps publishing', async () => {
  await using on = await robot();
  await on.device.publish(1);
  const here = simulateDevice({ dir: on.dir, socket: `${on.dir}/b.sock` });
  await expect(here).rejects.toMatchObject({ code: 'MUSTER_DIRECTORY_IN_USE' });
  await expect(here).rejects.toThrow(/robot is in use by another device of this process; give each device/);
  const settings = { device: { dir: on.dir, socket: `${on.dir}/b.sock` }, logLevel: 'silent' };
  await using elsewhere = new SupervisedDevice(settings);
  await expect(elsewhere.start()).rejects.toThrow(`robot is in use by process ${process.pid}; give each device`);
  expect(existsSync(`${on.dir}/b.sock`)).toBe(false);
  expect((await on.device.publish(1)).last_id).toBe(2);
});

test('a device creates and locks its directory at its first event', async () => {
  const dir = `${home.path}/new/robot`;
  await using one = await simulateDevice({ dir, socket: `${home.path}/a.sock` });
  await using other = await simulateDevice({ dir, socket: `${home.path}/b.sock` });
  expect(existsSync(`${home.path}/new`)).toBe(false);
  await one.publish(1);
  await expect(other.publish(1)).rejects.toThrow(/cannot store events in .*robot is in use by another device/);
  await one.stop();
  expect((await one.start().then(() => one.publish(1))).last_id).toBe(2);
});

test('exactly one of several processes takes over the lock of a dead owner', async () => {
  expect(await contest()).toEqual([]);
});

test('a stale lock is replaced even if its process id is in use, and the lock of another thread is kept', () => {
  const own = lockDirectory(home.path);
  const [pid, start, thread] = readlinkSync(`${home.path}/lock`).split('-');
  own.release();
  for (const owner of [`${process.ppid}-1-0-1`, `${pid}-1-${thread}-1`, `${pid}-${start}-${thread}-999999`, 'none']) {
    symlinkSync(owner, `${home.path}/lock`);
    lockDirectory(home.path).release();
    expect(readdirSync(home.path)).toEqual([]);
  }
  symlinkSync(`${pid}-${start}-77-1`, `${home.path}/lock`);
  expect(() => lockDirectory(home.path)).toThrow(DirectoryInUseError);
});

test('a device refuses a directory with a foreign file named lock', async () => {
  writeFileSync(`${home.path}/lock`, 'precious');
  await expect(simulateDevice({ dir: home.path })).rejects.toThrow(/lock is not a lock; remove it/);
});
