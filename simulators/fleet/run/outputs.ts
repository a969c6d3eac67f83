/** Writes the files of a run, and of shards that are merged. */
import { closeSync, existsSync, ftruncateSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { whyNot } from '../../../harness/common/user-files.ts';
import type { RolloutRow } from '../host/host.ts';
import { REPORT_FILE, reportHtml } from '../report/report.ts';
import { MergeError, mergeResults } from '../result/merge.ts';
import type { FleetResult } from '../result/result.ts';
import {
  type Collected,
  findShards,
  OutputError,
  RESULT_FILE,
  type WatchOptions,
  watchShards,
  writeAlive,
  writeFileIn,
  writeResult,
} from '../result/shards.ts';
import type { Shard } from './options.ts';
import { PreflightError } from './readiness.ts';

const SIGN_MS = 2000;

/** Writes `result.json` and `report.html`, and ends a shard's sign of life. Each is tried; throws OutputError that names what failed. */
export function writeOutputs(out: string, result: FleetResult): void {
  const problems: string[] = [];
  const files = [() => writeResult(out, result), () => writeFileIn(out, REPORT_FILE, reportHtml(result))];
  for (const write of files) {
    try {
      write();
    } catch (error) {
      if (!(error instanceof OutputError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new OutputError(problems.join('; '));
}

const ROLLOUTS_FILE = 'rollouts.jsonl';

/** The files of one run in its `out` folder: result, report, a row per roll-out, and a shard's sign of life. */
export class Outputs implements Disposable {
  readonly #out: string;
  readonly #rollouts: number;
  /** Bytes of whole rows. */
  #written = 0;
  #rowsProblem: string | undefined;
  #signing: NodeJS.Timeout | undefined;

  /** Removes the result of an earlier run, so that nobody takes it for the result of this one. Throws PreflightError. */
  constructor(out: string) {
    this.#out = out;
    try {
      for (const name of [RESULT_FILE, REPORT_FILE]) rmSync(join(out, name), { force: true });
      this.#rollouts = openSync(join(out, ROLLOUTS_FILE), 'w');
    } catch (error) {
      throw new PreflightError(`--out: cannot write to ${out} (${whyNot(error)}); accepted: a writable folder`);
    }
  }

  /** Renews the sign of life that `muster merge --watch` looks for, until disposed. */
  signOfLife(shard: Shard, phase: () => string): void {
    let beat = 0;
    const sign = (): void => {
      beat += 1;
      try {
        writeAlive(this.#out, { shard, beat, phase: phase() });
      } catch (error) {
        // The disk may have room again at the next beat, and no sign is worth a run.
        if (!(error instanceof OutputError)) throw error;
      }
    };
    sign();
    this.#signing = setInterval(sign, SIGN_MS);
  }

  /** Rows that the disk does not take are left out, with all later ones: the run goes on. */
  addRollouts(rows: readonly RolloutRow[]): void {
    if (rows.length === 0 || this.#rowsProblem !== undefined) return;
    const text = Buffer.from(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
    try {
      writeFileSync(this.#rollouts, text);
      this.#written += text.length;
    } catch (error) {
      this.#rowsProblem = whyNot(error);
      ftruncateSync(this.#rollouts, this.#written);
    }
  }

  /** What the result has to say of the other files. */
  get notes(): string[] {
    if (this.#rowsProblem === undefined) return [];
    return [`${join(this.#out, ROLLOUTS_FILE)} lacks rows: it could not be written (${this.#rowsProblem}).`];
  }

  /** Throws OutputError when not everything could be written. */
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
  /** Called before anything is written. */
  onResult?(result: FleetResult): void;
}

const LOOK_EVERY_MS = 1000;

/**
 * Resolves with the merged result and its folder. Rejects with MergeError or ResultError when the shards cannot be merged, and with
 * OutputError when the result cannot be written.
 */
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
  options.onResult?.(result);
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
