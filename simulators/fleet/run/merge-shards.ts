/** Joins the shards of a run: collects their results from folders and writes the merged result and its report. */
import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { MergeError, mergeResults } from '../result/merge.ts';
import type { FleetResult } from '../result/result.ts';
import { type Collected, findShards, type WatchOptions, watchShards } from '../result/shards.ts';
import { writeOutputs } from './outputs.ts';

export interface MergeShardsOptions {
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
}

const LOOK_EVERY_MS = 1000;

/** Resolves with the merged result and its folder. Rejects with MergeError or ResultError when the shards cannot be merged. */
export async function mergeShards(options: MergeShardsOptions): Promise<{ result: FleetResult; out: string }> {
  const { dirs, expect, watch, thresholds, apart } = options;
  const wanted = options.out === undefined ? [dirs[0] ?? '.', apart] : [options.out];
  const out = folderApart(dirs, wanted);
  const { parts, dead } =
    watch === undefined ? leftByShards(dirs) : await watchShards({ ...watch, dirs, everyMs: LOOK_EVERY_MS });
  if (parts.length === 0) throw new MergeError(`${dirs.join(', ')}: there is no result.json of a shard`);
  const result = mergeResults(parts, { dead, thresholds, ...(expect !== undefined && { expect }) });
  // A shard may have begun to write there while others were awaited.
  folderApart(dirs, [out]);
  writeOutputs(out, result);
  return { result, out };
}

/** The first of the wanted folders that is not a shard's own, because that result would be replaced. */
function folderApart(dirs: readonly string[], wanted: readonly string[]): string {
  const { parts, alive } = findShards(dirs);
  const shards = new Set([...parts, ...alive].map(({ name }) => canonical(name)));
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
  const { parts, alive } = findShards(dirs);
  const dead = new Map(
    alive.map(({ name, sign }) => [
      sign.shard.index,
      `${name} has a sign of life but no result, in phase ${sign.phase}`,
    ]),
  );
  return { parts, dead };
}
