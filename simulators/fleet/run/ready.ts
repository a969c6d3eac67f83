/** Checks and prepares the folders, the metrics port and the platform of a run. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import { DirectoryInUseError, lockDirectory } from '../../device/device-directory.ts';
import type { RunCosts } from '../measure/costs.ts';
import type { PlatformAddress } from '../platform/client.ts';
import { evaluatedThresholds } from '../result/thresholds.ts';
import { uplinkOf } from '../scenario/scenario.ts';
import { membersOf, type Shard } from '../schedule/schedule.ts';
import { PreflightError } from './errors.ts';
import type { RunOptions } from './fleet.ts';
import type { FleetRecord } from './record.ts';

/** If a folder is not writable, removes the new folders and throws PreflightError. */
export function createFolders({ dir, stateDir, out }: Pick<RunOptions, 'dir' | 'stateDir' | 'out'>): void {
  const created: string[] = [];
  for (const [option, folder] of Object.entries(defined({ dir, state: stateDir, out }))) {
    try {
      for (const missing of missingFolders(folder)) {
        try {
          mkdirSync(missing);
          created.unshift(missing);
        } catch (error) {
          if (codeOf(error) !== 'EEXIST') throw error;
        }
      }
      rmdirSync(mkdtempSync(join(folder, '.muster-')));
    } catch (error) {
      for (const own of created) rmdirSync(own);
      throw new PreflightError(`${cannotWrite(option, folder, error)}, or one that can be created`);
    }
  }
}

/** Folders to create one by one, because a recursive `mkdir` never returns in e.g. /proc. */
const missingFolders = (folder: string): string[] =>
  existsSync(folder) || dirname(folder) === folder ? [] : [...missingFolders(dirname(folder)), folder];

/** Tries the platform's routes before keys are generated. Rejects with PreflightError or UnreachableError. */
export async function surveyed(options: RunOptions, address: PlatformAddress) {
  const { scenario, robots, shard, devices, screen, signal } = options;
  const { namePrefix = 'robot' } = options;
  const { surveyPlatform } = await import('../platform/survey.ts');
  const members = membersOf(robots, shard);
  // Prefers a polling robot, because the survey finds or creates its device; an agent provisions its own.
  const first = members.find((robot) => uplinkOf(scenario, robot) === 'polling') ?? members[0] ?? 0;
  const survey = await surveyPlatform({ address, scenario, robots, namePrefix, first, devices, signal });
  for (const note of survey.notes) screen.write(`preflight: ${note}\n`);
  return survey;
}

/** Rejects with PreflightError for an unusable port. */
export async function publishFigures(
  options: RunOptions,
  stack: AsyncDisposableStack,
  current: () => { record: FleetRecord; costs: RunCosts | undefined },
): Promise<void> {
  const { metrics, scenario, shard, screen } = options;
  if (metrics === undefined) return;
  const { host, port } = metrics;
  const robots = membersOf(options.robots, shard).length;
  const read = () => {
    const { record, costs } = current();
    const { standing, phase, keysReady, progress } = record;
    const thresholds = evaluatedThresholds(options, standing);
    return { ...standing, tick: progress.latest, robots, phase, keysReady, thresholds, costs };
  };
  const labels = defined({ scenario: scenario.name, shard: shard && `${shard.index}/${shard.count}` });
  const { expose } = await import('../report/exposition.ts');
  const served = await expose({ port, host, labels, read }).catch((error: unknown) => {
    const why = codeOf(error);
    const option = why === 'EADDRINUSE' || why === 'EACCES' ? '--metrics-port' : '--metrics-port, --metrics-host';
    throw new PreflightError(`${option}: cannot listen on ${host}:${port} (${why}); 0 takes any free port`);
  });
  stack.use(served);
  screen.write(`metrics: http://${host}:${served.port}/metrics\n`);
}

/** Locks the output folder and the keys against a second fleet until `stack` is disposed. Throws PreflightError. */
export function lockFolders(
  options: Pick<RunOptions, 'out' | 'stateDir' | 'scenario' | 'shard' | 'namePrefix'>,
  stack: AsyncDisposableStack,
): void {
  const { out, stateDir, scenario, shard, namePrefix = 'robot' } = options;
  orRefuse('out', out, () => stack.defer(lockDirectory(out).release));
  if (scenario.uplink !== 'none' && scenario.uplink !== 'calls')
    orRefuse('state', stateDir, () => lockKeys(stack, stateDir, namePrefix, shard));
}

function lockKeys(stack: AsyncDisposableStack, dir: string, prefix: string, shard?: Shard): void {
  const { index, count } = shard ?? { index: 1, count: 1 };
  stack.defer(lockDirectory(dir, `lock-${prefix}-${index}-of-${count}`).release);
  for (const name of readdirSync(dir)) {
    const [, other, shards] = /^lock-(.+)-\d+-of-(\d+)$/.exec(name) ?? [];
    // Refuses a fleet with another number of shards, because its shards use the same robots as this shard.
    if (other === prefix && Number(shards) !== count) lockDirectory(dir, name).release();
  }
}

function orRefuse(option: string, folder: string, lock: () => void): void {
  try {
    lock();
  } catch (error) {
    if (!(error instanceof DirectoryInUseError)) throw new PreflightError(cannotWrite(option, folder, error));
    const user = `another fleet (process ${error.pid})`;
    throw new PreflightError(`--${option}: ${folder} is in use by ${user}; accepted: a folder of its own for each`);
  }
}

const codeOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code ?? (error as NodeJS.ErrnoException).message;

const cannotWrite = (option: string, folder: string, error: unknown): string =>
  `--${option}: cannot write to ${folder} (${codeOf(error)}); accepted: a writable folder`;
