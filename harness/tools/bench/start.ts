/** Measures the processor time that a command needs to start, compared with an empty Node program. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { Running } from '../../cli/testing/muster.ts';
import { type Figure, inTurns, median, timesFloor } from '../measure/figure.ts';
import { cpuSeconds, startMuster, treeOf, untilEnd } from '../measure/process.ts';
import { untilOnline } from './fleet.ts';

/** Multiples of an empty Node program. */
const GOALS = { device: 5, check: 10, fleet: 16 };
/** Empty programs in one measurement, because the system counts processor time in steps of 10 ms. */
const BARE = 20;
const SUITE = import.meta.resolve('../../../suites/device/index.ts');
const LOAD = `require('node:module').enableCompileCache();import(${JSON.stringify(SUITE)})`;

export async function benchStart(): Promise<Figure[]> {
  using home = scratch();
  const at = (name: string): string => join(home.path, name);
  const phases = 'phases:\n  - { do: ramp, over: 0s }\n  - { do: hold, for: 1h }\n';
  writeFileSync(at('idle.yaml'), `name: start\nuplink: none\nsubscribers: 0\n${phases}`);
  const device = ['simulate', 'device', '--socket', at('r.sock'), '--dir', at('robot')];
  const fleet = ['fleet', '--scenario', at('idle.yaml'), '--robots', '1', '--state', home.path, '--out', at('out')];
  const check = ['check', 'device', '--socket', at('r.sock'), '--only', 'device.version.prefix', '--fast'];
  const starts = {
    bare: async () =>
      (await untilEnd(async () => {
        for (let run = 0; run < BARE; run += 1) await node('0');
      })) / BARE,
    load: () => untilEnd(() => node(LOAD)),
    device: () => untilUp(device, (started) => started.ready()),
    check: async () => {
      await using target = startMuster(device);
      await target.ready();
      return await untilEnd(async () => {
        const { code, stderr } = await startMuster(check).ended;
        if (code !== 0) throw new Error(`${check.join(' ')} ended with exit code ${code}: ${stderr}`);
      });
    },
    fleet: () => untilUp(fleet, (started) => untilOnline(started, 1)),
  };
  // Fills Node's compile cache.
  await inTurns(1, starts);
  const taken = await inTurns(5, starts);
  const floor = median(taken.bare);
  const loaded = `a Node that loads its checks and does nothing else takes ${median(taken.load).toFixed(2)} s`;
  const two = 'two processes, which load their modules each';
  const figure = (name: string, of: keyof typeof GOALS, why = ''): Figure => ({
    ...timesFloor(name, median(taken[of]), floor, GOALS[of], 's of processor time'),
    why,
  });
  return [
    figure('muster simulate device: until it is ready', 'device'),
    figure('muster check device: the whole command with one check', 'check', loaded),
    figure('muster fleet: until one idle robot is up, with its worker', 'fleet', two),
  ];
}

const node = (code: string): Promise<unknown> => promisify(execFile)(process.execPath, ['-e', code]);

async function untilUp(words: readonly string[], up: (started: Running) => Promise<unknown>): Promise<number> {
  await using started = startMuster(words);
  await up(started);
  return cpuSeconds(treeOf(started.child.pid ?? 0));
}
