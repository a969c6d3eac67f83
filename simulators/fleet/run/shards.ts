/**
 * How the shards of a run begin: each claims its folder, makes its keys, and waits for the others, so that all begin at
 * once.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import { whyNot } from '../../../harness/common/user-files.ts';
import { PollTimeout, poll } from '../../../harness/common/waiting.ts';
import { MergeError, mergeResults } from '../result/merge.ts';
import type { FleetResult } from '../result/result.ts';
import {
  ALIVE_FILE,
  type Alive,
  announceRun,
  type Collected,
  FAILED_FILE,
  findShards,
  RESULT_FILE,
  readResult,
  reasonsOf,
  STARTING,
  shardFolder,
  silences,
  told,
  type WatchOptions,
  watchShards,
} from '../result/shards.ts';
import type { Shard } from '../schedule/schedule.ts';
import { writeOutputs } from './outputs.ts';
import type { RunIdentity } from './plan.ts';
import { PreflightError } from './ready.ts';

/** Between two looks at the folders of the others: the most by which starts differ, beside what a shared disk adds. */
const LOOK_MS = 250;
/** A shard without a sign of life for this time is waited for no longer; `muster merge` says that it is dead. */
const SILENT_MS = 30_000;

/** Other shards did not come up in time. The message names them. */
export class StartTimeout extends Error {
  override name = 'StartTimeout';
}

/**
 * What the result has to say of an earlier attempt of the same shard. Throws PreflightError when its result is there
 * and it was not started by the same job: two runs with one id cannot be told apart.
 */
export function claimShard(out: string, shard: Shard, { runId, jobId }: RunIdentity): string[] {
  const result = join(out, RESULT_FILE);
  if (existsSync(result) && (jobId === undefined || readResult(result).job_id !== jobId)) {
    throw new PreflightError(
      `--run-id: ${runId} has a result of shard ${shard.index}/${shard.count} already, in ${out}; accepted: an ` +
        'id of its own for each run',
    );
  }
  if (![RESULT_FILE, ALIVE_FILE, FAILED_FILE].some((name) => existsSync(join(out, name)))) return [];
  return [
    `Shard ${shard.index}/${shard.count} was started again; what an earlier attempt measured is not in the result.`,
  ];
}

/**
 * Resolves when every other shard of the run is ready, has ended or is silent. Rejects with StartTimeout, and with the
 * signal's reason. `out` is the folder of this shard, beside those of the others.
 */
export async function othersReady(
  out: string,
  { index, count }: Shard,
  { startWithinMs }: RunIdentity,
  signal: AbortSignal,
): Promise<void> {
  const silenceOf = silences();
  let missing: string[] = [];
  const look = (): true | undefined => {
    missing = [];
    for (let other = 1; other <= count; other += 1) {
      if (other === index) continue;
      const folder = join(dirname(out), shardFolder({ index: other, count }));
      if (!isReady(folder, silenceOf)) missing.push(`${other}/${count}`);
    }
    return missing.length === 0 || undefined;
  };
  try {
    await poll('the other shards', look, { timeoutMs: startWithinMs, firstPauseMs: LOOK_MS, signal });
  } catch (error) {
    if (!(error instanceof PollTimeout)) throw error;
    throw new StartTimeout(
      `shard ${missing.join(', ')} did not come up within ${startWithinMs / 1000} s; is there room for all ` +
        'shards at once?',
    );
  }
}

function isReady(folder: string, silenceOf: (sign: Alive) => number): boolean {
  if (existsSync(join(folder, RESULT_FILE)) || existsSync(join(folder, FAILED_FILE))) return true;
  const sign = told<Alive>(join(folder, ALIVE_FILE));
  return sign !== undefined && (sign.phase !== STARTING || silenceOf(sign) > SILENT_MS);
}

// How the shards of a run end: their results become one.

interface MergeShardsOptions {
  /** Folders of shards, or folders that contain them. */
  dirs: readonly string[];
  /** Number of shards. Default: the number that the shards name. */
  expect?: number | undefined;
  /** Waits for shards that still run. Default: merges what is there. */
  watch?: Pick<WatchOptions, 'expect' | 'deadAfterMs' | 'timeoutMs' | 'signal' | 'onProgress'> | undefined;
  /** Thresholds beside those of the shards. */
  thresholds: readonly string[];
  /** Folder of the merged result. Default: the first of `dirs`, or `apart` when that is a shard's own. */
  out?: string | undefined;
  apart: string;
  /** Only shards of this run, which lie in a folder of that name in each of `dirs`. */
  runId?: string | undefined;
  /** Called before anything is written. */
  onResult?(result: FleetResult): void;
}

const LOOK_EVERY_MS = 1000;

/**
 * Resolves with the merged result and its folder. Rejects with MergeError or ResultError when the shards cannot be
 * merged, with NoShardLeft when none has a result, and with OutputError when the result cannot be written.
 */
export async function mergeShards(options: MergeShardsOptions): Promise<{ result: FleetResult; out: string }> {
  const { expect, watch, thresholds, apart, runId } = options;
  const dirs = runId === undefined ? options.dirs : options.dirs.map((dir) => join(dir, runId));
  const wanted = options.out === undefined ? [dirs[0] ?? '.', apart] : [options.out];
  const out = folderApart(dirs, wanted);
  if (watch !== undefined) checkBeforeWait(out, runId);
  const { parts, dead } = watch === undefined ? leftByShards(dirs) : await awaited(options, watch, dirs);
  if (parts.length === 0) throw nothingIn(options, dirs, dead);
  const result = mergeResults(parts, defined({ dead, thresholds, expect }));
  // A shard may have begun to write there while others were awaited.
  folderApart(dirs, [out]);
  options.onResult?.(result);
  writeOutputs(out, result);
  return { result, out };
}

/** Announces the run, if it has an id, while it waits. */
async function awaited(
  { dirs: given, runId }: MergeShardsOptions,
  watch: NonNullable<MergeShardsOptions['watch']>,
  dirs: readonly string[],
): Promise<Collected> {
  using _ = runId === undefined ? undefined : announceRun(given[0] ?? '.', runId);
  return await watchShards({ ...watch, dirs, everyMs: LOOK_EVERY_MS });
}

/** Before hours of waiting. Throws MergeError. */
function checkBeforeWait(out: string, runId: string | undefined): void {
  const file = join(out, RESULT_FILE);
  const earlier = runId !== undefined && existsSync(file) ? readResult(file) : undefined;
  // One that was told to end, such as by a drain of its node, left what it had, and is started again to go on.
  if (earlier?.run_id === runId && earlier?.complete === true) {
    throw new MergeError(
      `--run-id: the run ${runId} was merged already, in ${file}; accepted: the id of another run, or merge ` +
        'without --watch',
    );
  }
  try {
    mkdirSync(out, { recursive: true });
    rmdirSync(mkdtempSync(join(out, '.muster-')));
  } catch (error) {
    throw new MergeError(`--out: cannot write to ${out} (${whyNot(error)}); accepted: a writable folder`);
  }
}

/** Every shard ended without a result. The message gives their reasons. */
export class NoShardLeft extends Error {
  override name = 'NoShardLeft';
}

function nothingIn(
  { dirs: given, runId, watch }: MergeShardsOptions,
  dirs: readonly string[],
  dead: Collected['dead'],
): Error {
  const reasons = [...dead].map(([index, reason]) => `shard ${index}: ${reason}`);
  if (reasons.length > 0) return new NoShardLeft(`no shard left a result: ${reasons.join('; ')}`);
  const runs = runId === undefined ? [] : given.flatMap(foldersOf).filter((name) => name !== 'state');
  const there = runs.length === 0 ? '' : `; there are runs ${runs.join(', ')}`;
  const problem = `${dirs.join(', ')}: there is no result.json of a shard${there}`;
  return watch === undefined ? new MergeError(problem) : new NoShardLeft(problem);
}

const foldersOf = (dir: string): string[] =>
  existsSync(dir)
    ? readdirSync(dir, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
    : [];

/** The first of the wanted folders that is not a shard's own, because that result would be replaced. */
function folderApart(dirs: readonly string[], wanted: readonly string[]): string {
  const { parts, alive, failed } = findShards(dirs);
  const shards = new Set([...parts, ...alive, ...failed].map(({ name }) => canonical(name)));
  const out = wanted.map((folder) => resolve(folder)).find((folder) => !shards.has(canonical(folder)));
  if (out !== undefined) return out;
  throw new MergeError(
    `--out: ${wanted.at(-1)} is the folder of a shard, whose result would be replaced; accepted: any other folder`,
  );
}

/** The name of a folder without links. */
const canonical = (folder: string): string => (existsSync(folder) ? realpathSync(folder) : folder);

/** The results that are there now. A shard without a result counts as dead. */
function leftByShards(dirs: readonly string[]): Collected {
  const { parts, alive, failed } = findShards(dirs);
  const why = ({ name, sign }: (typeof alive)[number]): string =>
    `${name} has a sign of life but no result, in phase ${sign.phase}`;
  const silent = alive.map((shard) => [shard.sign.shard.index, why(shard)] as const);
  return { parts, dead: new Map([...reasonsOf(failed), ...silent]) };
}
