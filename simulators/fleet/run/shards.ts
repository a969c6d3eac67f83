/** Common start of a run's shards: each shard claims its folder, generates keys, and waits for the other shards. */

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import { whyNot } from '../../../harness/common/user-files.ts';
import { poll } from '../../../harness/common/waiting.ts';
import { MergeError, mergeResults } from '../result/merge.ts';
import type { FleetResult } from '../result/result.ts';
import {
  ALIVE_FILE,
  type Alive,
  announceRun,
  type Collected,
  FAILED_FILE,
  findShards,
  foldersIn,
  RESULT_FILE,
  readJsonFile,
  readResult,
  reasonsOf,
  STARTING,
  shardFolder,
  silences,
  type WatchOptions,
  watchShards,
} from '../result/shards.ts';
import type { Shard } from '../schedule/schedule.ts';
import { PreflightError } from './errors.ts';
import type { RunIdentity } from './fleet.ts';
import { writeOutputs } from './outputs.ts';

export class StartTimeout extends Error {
  override name = 'StartTimeout';
}

/** Returns notes about an earlier attempt of the shard. Throws PreflightError if another job has left a result. */
export function claimShard(out: string, shard: Shard, { runId, jobId }: RunIdentity): string[] {
  const result = join(out, RESULT_FILE);
  if (existsSync(result) && (jobId === undefined || readResult(result).job_id !== jobId)) {
    const problem = `${runId} has a result of shard ${shard.index}/${shard.count} already, in ${out}`;
    throw new PreflightError(`--run-id: ${problem}; accepted: an id of its own for each run`);
  }
  if (![RESULT_FILE, ALIVE_FILE, FAILED_FILE].some((name) => existsSync(join(out, name)))) return [];
  return [
    `Shard ${shard.index}/${shard.count} was started again; what an earlier attempt measured is not in the result.`,
  ];
}

/** Waits until all other shards are ready, ended or silent. Rejects with StartTimeout or the signal's reason. */
export async function othersReady(out: string, shard: Shard, withinMs: number, signal: AbortSignal): Promise<void> {
  const { index, count } = shard;
  const silenceOf = silences();
  let missing: string[] = [];
  const look = (): true | undefined => {
    missing = [];
    for (let other = 1; other <= count; other += 1) {
      if (other === index) continue;
      const folder = join(dirname(out), shardFolder({ index: other, count }));
      if (existsSync(join(folder, RESULT_FILE)) || existsSync(join(folder, FAILED_FILE))) continue;
      const sign = readJsonFile<Alive>(join(folder, ALIVE_FILE));
      // Milliseconds without a sign of life after which other shards no longer wait for a shard.
      const isReady = sign !== undefined && (sign.phase !== STARTING || silenceOf(sign) > 30_000);
      if (!isReady) missing.push(`${other}/${count}`);
    }
    return missing.length === 0 || undefined;
  };
  const timeoutError = () => {
    const late = `shard ${missing.join(', ')} did not come up within ${withinMs / 1000} s`;
    return new StartTimeout(`${late}; is there room for all shards at once?`);
  };
  await poll('the other shards', look, { timeoutMs: withinMs, firstPauseMs: 250, signal, timeoutError });
}

interface MergeShardsOptions {
  dirs: readonly string[];
  expect?: number | undefined;
  watch?: Pick<WatchOptions, 'expect' | 'deadAfterMs' | 'timeoutMs' | 'signal' | 'onProgress'> | undefined;
  thresholds: readonly string[];
  /** Folder of the merged result. Default: first of `dirs`, or `apart` if a shard uses the first folder. */
  out?: string | undefined;
  apart: string;
  runId?: string | undefined;
  onResult?(result: FleetResult): void;
}

/** Rejects with MergeError, ResultError or OutputError, or with NoShardLeft if no shard has a result. */
export async function mergeShards(options: MergeShardsOptions): Promise<{ result: FleetResult; out: string }> {
  const { expect, watch, thresholds, apart, runId } = options;
  const dirs = runId === undefined ? options.dirs : options.dirs.map((dir) => join(dir, runId));
  const wanted = options.out === undefined ? [dirs[0] ?? '.', apart] : [options.out];
  const out = folderApart(dirs, wanted);
  if (watch !== undefined) checkBeforeWait(out, runId);
  using _ = watch === undefined || runId === undefined ? undefined : announceRun(options.dirs[0] ?? '.', runId);
  const { parts, dead } =
    watch === undefined ? leftByShards(dirs) : await watchShards({ ...watch, dirs, everyMs: 1000 });
  if (parts.length === 0) throw nothingIn(options, dirs, dead);
  const result = mergeResults(parts, defined({ dead, thresholds, expect }));
  // Checks again, because a shard may have started to use the folder during the wait.
  folderApart(dirs, [out]);
  options.onResult?.(result);
  writeOutputs(out, result);
  return { result, out };
}

/** Throws MergeError before a long wait if the run was merged already or the folder is not writable. */
function checkBeforeWait(out: string, runId: string | undefined): void {
  const file = join(out, RESULT_FILE);
  const earlier = runId !== undefined && existsSync(file) ? readResult(file) : undefined;
  // Lets a merge go on if its earlier result is incomplete, e.g. after an interrupt.
  if (earlier?.run_id === runId && earlier?.complete === true) {
    const accepted = 'the id of another run, or merge without --watch';
    throw new MergeError(`--run-id: the run ${runId} was merged already, in ${file}; accepted: ${accepted}`);
  }
  try {
    mkdirSync(out, { recursive: true });
    rmdirSync(mkdtempSync(join(out, '.muster-')));
  } catch (error) {
    throw new MergeError(`--out: cannot write to ${out} (${whyNot(error)}); accepted: a writable folder`);
  }
}

export class NoShardLeft extends Error {
  override name = 'NoShardLeft';
}

function nothingIn(options: MergeShardsOptions, dirs: readonly string[], dead: Collected['dead']): Error {
  const { dirs: given, runId, watch } = options;
  const reasons = [...dead].map(([index, reason]) => `shard ${index}: ${reason}`);
  if (reasons.length > 0) return new NoShardLeft(`no shard left a result: ${reasons.join('; ')}`);
  const runs = runId === undefined ? [] : given.flatMap(foldersIn).filter((name) => name !== 'state');
  const there = runs.length === 0 ? '' : `; there are runs ${runs.join(', ')}`;
  const problem = `${dirs.join(', ')}: there is no result.json of a shard${there}`;
  return watch === undefined ? new MergeError(problem) : new NoShardLeft(problem);
}

/** First folder of `wanted` that no shard uses. Throws MergeError if shards use every folder. */
function folderApart(dirs: readonly string[], wanted: readonly string[]): string {
  const { parts, alive, failed } = findShards(dirs);
  const shards = new Set([...parts, ...alive, ...failed].map(({ name }) => canonical(name)));
  const out = wanted.map((folder) => resolve(folder)).find((folder) => !shards.has(canonical(folder)));
  if (out !== undefined) return out;
  throw new MergeError(
    `--out: ${wanted.at(-1)} is the folder of a shard, whose result would be replaced; accepted: any other folder`,
  );
}

const canonical = (folder: string): string => (existsSync(folder) ? realpathSync(folder) : folder);

function leftByShards(dirs: readonly string[]): Collected {
  const { parts, alive, failed } = findShards(dirs);
  const why = ({ name, sign }: (typeof alive)[number]): string =>
    `${name} has a sign of life but no result, in phase ${sign.phase}`;
  const silent = alive.map((shard) => [shard.sign.shard.index, why(shard)] as const);
  return { parts, dead: new Map([...reasonsOf(failed), ...silent]) };
}
