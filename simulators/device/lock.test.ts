import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { expect, test } from 'vitest';
import { simulateDevice } from './index.ts';
import { DirectoryInUseError, lockDirectory } from './lock.ts';
import { SupervisedDevice } from './process/supervisor.ts';
import { robot } from './testing/robot.ts';
import { scratch } from './testing/scratch.ts';

const TAKER = new URL('./testing/lock-taker.ts', import.meta.url);

async function takers(count: number): Promise<ChildProcess[]> {
  const processes = Array.from({ length: count }, () => fork(TAKER));
  await Promise.all(processes.map((taker) => once(taker, 'message')));
  return processes;
}

async function ask(taker: ChildProcess, message: object): Promise<string> {
  const answer = once(taker, 'message') as Promise<[string]>;
  taker.send(message);
  return (await answer)[0];
}

async function kill(taker: ChildProcess): Promise<void> {
  const ended = once(taker, 'exit');
  taker.kill('SIGKILL');
  await ended;
}

test('a second device in the same directory is refused, wherever it is, and the first goes on', async () => {
  await using on = await robot();
  await on.device.publish(1);
  const here = simulateDevice({ dir: on.dir, socket: `${on.dir}/b.sock` });
  await expect(here).rejects.toThrow(DirectoryInUseError);
  await expect(here).rejects.toThrow(/robot is in use by another device of this process; give each device/);
  const settings = { device: { dir: on.dir, socket: `${on.dir}/b.sock` }, logLevel: 'silent' };
  await using elsewhere = new SupervisedDevice(settings);
  await expect(elsewhere.start()).rejects.toThrow(`robot is in use by process ${process.pid}; give each device`);
  expect(existsSync(`${on.dir}/b.sock`)).toBe(false);
  expect((await on.device.publish(1)).last_id).toBe(2);
});

test('a process has its directory from the beginning, a stop gives it back, a kill leaves it to the next one', async () => {
  using home = scratch();
  const dir = `${home.path}/robot`;
  const socket = `${home.path}/a.sock`;
  await using first = new SupervisedDevice({ device: { dir, socket }, logLevel: 'silent' });
  await first.start();
  await expect(simulateDevice({ dir })).rejects.toThrow(`in use by process ${first.pid}`);
  await first.stop();
  expect(readdirSync(dir)).toEqual([]);
  await first.start();
  await first.publish(3);
  await first.stop('SIGKILL');
  expect(lstatSync(`${dir}/lock`).isSymbolicLink()).toBe(true);
  await using next = await simulateDevice({ dir, socket });
  expect((await next.publish(1)).first_id).toBe(4);
  await expect(first.start()).rejects.toThrow(/in use by process/);
});

test('nothing is made for a device that has nothing to say; the first event takes the directory', async () => {
  using home = scratch();
  const dir = `${home.path}/new/robot`;
  await using one = await simulateDevice({ dir, socket: `${home.path}/a.sock` });
  await using other = await simulateDevice({ dir, socket: `${home.path}/b.sock` });
  expect(existsSync(`${home.path}/new`)).toBe(false);
  await one.publish(1);
  await expect(other.publish(1)).rejects.toThrow(/cannot store events in .*robot is in use by another device/);
  await one.stop();
  expect((await one.start().then(() => one.publish(1))).last_id).toBe(2);
});

test.for(['a stop', 'a kill'])('is free again after %s, in the same process', async (how) => {
  await using on = await robot();
  for (let round = 0; round < 3; round += 1) {
    await on.device.publish(1);
    expect(lstatSync(`${on.dir}/lock`).isSymbolicLink()).toBe(true);
    await on.device.stop(how === 'a stop' ? 'SIGTERM' : 'SIGKILL');
    expect(readdirSync(on.dir).includes('lock')).toBe(how === 'a kill');
    await on.device.start();
  }
});

test('of many processes that find a dead owner, one takes its place', async () => {
  using home = scratch();
  const processes = await takers(4);
  try {
    for (let round = 0; round < 100; round += 1) {
      const dir = `${home.path}/${round}`;
      mkdirSync(dir);
      const [dead] = round % 20 === 0 ? await takers(1) : [];
      if (dead) {
        expect(await ask(dead, { take: dir })).toBe('got it');
        await kill(dead);
      } else {
        symlinkSync('4194305-1-0-0-0-1', `${dir}/lock`);
        // One that died while it took over from one that was dead.
        if (round % 2 === 0) symlinkSync('4194306-1-0-0-0-1', `${dir}/lock.4194305-1-0-0-0-1`);
      }
      const answers = await Promise.all(processes.map((taker) => ask(taker, { take: dir })));
      expect(answers.toSorted()).toEqual([
        'DirectoryInUseError',
        'DirectoryInUseError',
        'DirectoryInUseError',
        'got it',
      ]);
      const winner = processes[answers.indexOf('got it')];
      expect(readlinkSync(`${dir}/lock`)).toMatch(new RegExp(`^${winner?.pid}-`));
      expect(readdirSync(dir)).toEqual(['lock']);
      await Promise.all(processes.map((taker) => ask(taker, { release: true })));
      expect(readdirSync(dir)).toEqual([]);
    }
  } finally {
    await Promise.all(processes.map(kill));
  }
});

test('a lock from before the machine was started again is nobody’s', () => {
  using home = scratch();
  const own = lockDirectory(home.path);
  const [pid, start, , space, thread] = readlinkSync(`${home.path}/lock`).split('-');
  own.release();
  symlinkSync([pid, start, 'another', space, thread, 1].join('-'), `${home.path}/lock`);
  lockDirectory(home.path).release();
  expect(readdirSync(home.path)).toEqual([]);
});

test('a number that another process has now is not taken for its owner', () => {
  using home = scratch();
  const own = lockDirectory(home.path);
  const [, , boot, space, thread] = readlinkSync(`${home.path}/lock`).split('-');
  own.release();
  symlinkSync([process.ppid, 1, boot, space, thread, 1].join('-'), `${home.path}/lock`);
  lockDirectory(home.path).release();
});

test('what is called lock and is none is left alone', async () => {
  using home = scratch();
  writeFileSync(`${home.path}/lock`, 'precious');
  await expect(simulateDevice({ dir: home.path })).rejects.toThrow(/lock is not a lock; remove it/);
});
