/** Processor time that a command takes until it does its work, beside a Node that does nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { childrenOf } from '../soak/samples.ts';
import { type Figure, inScratch, median } from './figure.ts';
import { MAIN, untilOnline } from './fleet-command.ts';
import { cpuSeconds, cpuSecondsOfEnded } from './processor.ts';

const ROUNDS = 5;
/** Seconds of processor time. */
const GOAL = 0.6;
/** Loads what a check of a device consists of, and does nothing with it. */
const LOAD = `require('node:module').enableCompileCache();import(${JSON.stringify(import.meta.resolve('../../../suites/device/index.ts'))})`;

/** Half a minute. The first round fills Node's cache of compiled code, as the first use of a command does, and does not count. */
export async function benchStart(): Promise<Figure[]> {
  return await inScratch(async (dir) => {
    const idle = join(dir, 'idle.yaml');
    const phases = 'phases:\n  - { do: ramp, over: 0s }\n  - { do: hold, for: 1h }\n';
    writeFileSync(idle, `name: start\nuplink: none\nsubscribers: 0\n${phases}`);
    const [socket, robot] = [join(dir, 'r.sock'), join(dir, 'robot')];
    const device = ['simulate', 'device', '--socket', socket, '--dir', robot];
    const fleet = ['fleet', '--scenario', idle, '--robots', '1', '--state', dir, '--out', join(dir, 'out')];
    const check = ['check', 'device', '--socket', socket, '--only', 'device.version.prefix', '--fast'];
    const starts = {
      bare: () => untilEnd(['-e', '0']),
      load: () => untilEnd(['-e', LOAD]),
      device: () => untilSaid([MAIN, ...device], ready),
      check: async () => {
        const target = spawn(process.execPath, [MAIN, ...device], { stdio: ['ignore', 'pipe', 'ignore'] });
        try {
          await ready(target);
          return await untilEnd([MAIN, ...check]);
        } finally {
          await end(target);
        }
      },
      fleet: () => untilSaid([MAIN, ...fleet], online),
    };
    const taken: Record<keyof typeof starts, number[]> = { bare: [], load: [], device: [], check: [], fleet: [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [name, start] of Object.entries(starts) as [keyof typeof starts, () => Promise<number>][]) {
        const seconds = await start();
        if (round > 0) taken[name].push(seconds);
      }
    }
    const floor = median(taken.bare);
    const figure = (name: string, seconds: number, why?: string): Figure => ({
      name,
      value: seconds,
      floor,
      ratio: seconds / floor,
      goal: `≤ ${GOAL} s of processor time`,
      unit: 's',
      met: seconds <= GOAL,
      ...(why !== undefined && { why }),
    });
    const loaded = `a Node that loads its checks and does nothing else takes ${median(taken.load).toFixed(2)} s`;
    return [
      figure('muster simulate device: until it is ready', median(taken.device)),
      figure('muster check device: the whole command with one check', median(taken.check), loaded),
      figure(
        'muster fleet: until one idle robot is up, with its worker',
        median(taken.fleet),
        'two processes, which load their modules each',
      ),
    ];
  });
}

/** Processor time of a command that ends by itself. Rejects when it failed. */
async function untilEnd(words: readonly string[]): Promise<number> {
  const before = cpuSecondsOfEnded();
  const child = spawn(process.execPath, words, { stdio: 'ignore' });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${words.join(' ')} ended with exit code ${code}`);
  return cpuSecondsOfEnded() - before;
}

/** Processor time of a command and its children until it has said that it is up. */
async function untilSaid(words: readonly string[], up: (child: ChildProcess) => Promise<void>): Promise<number> {
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    await up(child);
    const pid = child.pid ?? 0;
    return [pid, ...childrenOf(pid)].reduce((sum, of) => sum + cpuSeconds(of), 0);
  } finally {
    await end(child);
  }
}

const ended = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('close', resolve));

async function end(child: ChildProcess): Promise<void> {
  const gone = ended(child);
  if (child.exitCode !== null || !child.kill('SIGTERM')) return;
  await gone;
}

/** Resolves at the line on standard output with which a simulator is ready. */
async function ready(child: ChildProcess): Promise<void> {
  const line = new Promise<void>((resolve) => child.stdout?.once('data', () => resolve()));
  const early = ended(child).then(() => Promise.reject(new Error('muster simulate device ended before it was ready')));
  child.stderr?.resume();
  await Promise.race([line, early]);
}

async function online(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  if (child.stderr) await untilOnline(child.stderr, 1, ended(child));
}
