import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { scratch } from './robot.ts';

const TAKER = new URL('./lock-taker.ts', import.meta.url);
/** Owners that are never alive, because their process ids exceed the maximum of Linux. */
const DEAD = '4194305-1-0-1';
const DEAD_TAKER = '4194306-1-0-1';

/**
 * Problems of rounds in which processes take over the lock of a dead owner; each round must have one winner and leave
 * no file. In every sixth round, the dead owner was a real process.
 */
export async function contest(): Promise<string[]> {
  using home = scratch();
  const problems: string[] = [];
  const processes = await takers(3);
  try {
    for (let round = 0; round < 12; round += 1) {
      const dir = `${home.path}/${round}`;
      mkdirSync(dir);
      if (round % 6 === 0) await leaveLock(dir);
      else symlinkSync(DEAD, `${dir}/lock`);
      if (round % 2 === 1) symlinkSync(DEAD_TAKER, `${dir}/lock.${DEAD}`);
      const answers = await Promise.all(processes.map((taker) => ask(taker, { take: dir })));
      const winner = processes[answers.indexOf('got it')];
      const outcome = [...answers.toSorted(), ...readdirSync(dir)].join();
      const wanted = 'DirectoryInUseError,DirectoryInUseError,got it,lock';
      if (outcome !== wanted) problems.push(`round ${round}: ${outcome}`);
      const owner = readlinkSync(`${dir}/lock`);
      if (!owner.startsWith(`${winner?.pid}-`)) problems.push(`round ${round}: ${owner} holds what ${winner?.pid} got`);
      await Promise.all(processes.map((taker) => ask(taker, { release: true })));
      if (readdirSync(dir).length > 0) problems.push(`round ${round}: ${readdirSync(dir).join()} stays`);
    }
  } finally {
    await Promise.all(processes.map(kill));
  }
  return problems;
}

async function leaveLock(dir: string): Promise<void> {
  const [dead] = await takers(1);
  if (!dead || (await ask(dead, { take: dir })) !== 'got it') throw new Error(`${dir} could not be locked`);
  await kill(dead);
}

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
