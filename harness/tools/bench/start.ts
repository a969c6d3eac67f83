/** Processor time that a command takes until it does its work, beside a Node that does nothing. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Running } from '../../cli/testing/muster.ts';
import { defined } from '../../common/defined.ts';
import { type Figure, inScratch, median } from '../measure/figure.ts';
import { cpuSeconds, cpuSecondsOfEnded, muster, treeOf } from '../measure/process.ts';
import { untilOnline } from './fleet.ts';

const ROUNDS = 5;
/** Seconds of processor time. */
const GOAL = 0.6;
const SUITE = import.meta.resolve('../../../suites/device/index.ts');
/** Loads what a check of a device consists of, and does nothing with it. */
const LOAD = `require('node:module').enableCompileCache();import(${JSON.stringify(SUITE)})`;

/**
 * Half a minute. The first round fills Node's cache of compiled code, as the first use of a command does, and does not
 * count.
 */
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
      bare: () => untilEnd(() => node('0')),
      load: () => untilEnd(() => node(LOAD)),
      device: () => untilUp(device, (started) => started.ready()),
      check: async () => {
        await using target = muster(device);
        await target.ready();
        return await untilEnd(async () => {
          const { code, stderr } = await muster(check).ended;
          if (code !== 0) throw new Error(`${check.join(' ')} ended with exit code ${code}: ${stderr}`);
        });
      },
      fleet: () => untilUp(fleet, (started) => untilOnline(started, 1)),
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
      ...defined({ why }),
    });
    const loaded = `a Node that loads its checks and does nothing else takes ${median(taken.load).toFixed(2)} s`;
    const two = 'two processes, which load their modules each';
    return [
      figure('muster simulate device: until it is ready', median(taken.device)),
      figure('muster check device: the whole command with one check', median(taken.check), loaded),
      figure('muster fleet: until one idle robot is up, with its worker', median(taken.fleet), two),
    ];
  });
}

const node = (code: string): Promise<unknown> => promisify(execFile)(process.execPath, ['-e', code]);

/** Processor time of a command that ends by itself. */
async function untilEnd(run: () => Promise<unknown>): Promise<number> {
  const before = cpuSecondsOfEnded();
  await run();
  return cpuSecondsOfEnded() - before;
}

/** Processor time of a command and its children until it is up. */
async function untilUp(words: readonly string[], up: (started: Running) => Promise<unknown>): Promise<number> {
  await using started = muster(words);
  await up(started);
  return cpuSeconds(treeOf(started.child.pid ?? 0));
}
