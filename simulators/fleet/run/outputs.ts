/** Writes the files of a run, and of shards that are merged. */
import { closeSync, existsSync, openSync, realpathSync, rmSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { RolloutRow } from '../host/host.ts';
import { REPORT_FILE, reportHtml } from '../report/report.ts';
import { MergeError, mergeResults } from '../result/merge.ts';
import type { FleetResult } from '../result/result.ts';
import {
  type Collected,
  findShards,
  RESULT_FILE,
  type WatchOptions,
  watchShards,
  writeAlive,
  writeFileIn,
  writeResult,
} from '../result/shards.ts';
import type { Shard } from './options.ts';

const SIGN_MS = 2000;

/** Writes `result.json` and `report.html`, and ends a shard's sign of life. */
export function writeOutputs(out: string, result: FleetResult): void {
  writeResult(out, result);
  writeFileIn(out, REPORT_FILE, reportHtml(result));
}

/** The files of one run in its `out` folder: result, report, a row per roll-out, and a shard's sign of life. */
export class Outputs implements Disposable {
  readonly #out: string;
  readonly #rollouts: number;
  #signing: NodeJS.Timeout | undefined;

  /** Removes the result of an earlier run, so that nobody takes it for the result of this one. */
  constructor(out: string) {
    this.#out = out;
    for (const name of [RESULT_FILE, REPORT_FILE]) rmSync(join(out, name), { force: true });
    this.#rollouts = openSync(join(out, 'rollouts.jsonl'), 'w');
  }

  /** Renews the sign of life that `muster merge --watch` looks for, until disposed. */
  signOfLife(shard: Shard, phase: () => string): void {
    let beat = 0;
    const sign = (): void => {
      beat += 1;
      writeAlive(this.#out, { shard, beat, phase: phase() });
    };
    sign();
    this.#signing = setInterval(sign, SIGN_MS);
  }

  addRollouts(rows: readonly RolloutRow[]): void {
    if (rows.length > 0) writeSync(this.#rollouts, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
  }

  finish(result: FleetResult): void {
    clearInterval(this.#signing);
    writeOutputs(this.#out, result);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#signing);
    closeSync(this.#rollouts);
  }
}

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
  const why = ({ name, sign }: (typeof alive)[number]): string =>
    `${name} has a sign of life but no result, in phase ${sign.phase}`;
  return { parts, dead: new Map(alive.map((shard) => [shard.sign.shard.index, why(shard)])) };
}
