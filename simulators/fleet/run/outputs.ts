/** Writes the files of a run, and of shards that are merged. */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { whyNot } from '../../../harness/common/user-files.ts';
import type { RolloutRow } from '../host/host.ts';
import { REPORT_FILE, reportHtml } from '../report/report.ts';
import { MergeError, mergeResults } from '../result/merge.ts';
import type { FleetResult } from '../result/result.ts';
import { announceRun } from '../result/run-id.ts';
import {
  ALIVE_FILE,
  type Collected,
  FAILED_FILE,
  findShards,
  OutputError,
  RESULT_FILE,
  readResult,
  reasonsOf,
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
  /** Renews the sign of life now. */
  sign: () => void = () => {};

  /** Removes the result of an earlier run, so that nobody takes it for the result of this one. Throws PreflightError. */
  constructor(out: string) {
    this.#out = out;
    try {
      for (const name of [RESULT_FILE, REPORT_FILE, FAILED_FILE]) rmSync(join(out, name), { force: true });
      this.#rollouts = openSync(join(out, ROLLOUTS_FILE), 'w');
    } catch (error) {
      throw new PreflightError(`--out: cannot write to ${out} (${whyNot(error)}); accepted: a writable folder`);
    }
  }

  /** Renews the sign of life that `muster merge --watch` looks for, until disposed. */
  signOfLife(shard: Shard, phase: () => string): void {
    let beat = 0;
    this.sign = () => {
      beat += 1;
      try {
        writeAlive(this.#out, { shard, beat, phase: phase() });
      } catch (error) {
        // The disk may have room again at the next beat, and no sign is worth a run.
        if (!(error instanceof OutputError)) throw error;
      }
    };
    this.sign();
    this.#signing = setInterval(this.sign, SIGN_MS);
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

  /** A run that ends without a result gives no sign of life any more. */
  [Symbol.dispose](): void {
    clearInterval(this.#signing);
    if (this.#signing !== undefined) rmSync(join(this.#out, ALIVE_FILE), { force: true });
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
  /** Only shards of this run, which lie in a folder of that name in each of `dirs`. */
  runId?: string | undefined;
  /** Called before anything is written. */
  onResult?(result: FleetResult): void;
}

const LOOK_EVERY_MS = 1000;

/**
 * Resolves with the merged result and its folder. Rejects with MergeError or ResultError when the shards cannot be merged, with NoShardLeft
 * when none has a result, and with OutputError when the result cannot be written.
 */
export async function mergeShards(options: MergeShardsOptions): Promise<{ result: FleetResult; out: string }> {
  const { expect, watch, thresholds, apart, runId } = options;
  const dirs = runId === undefined ? options.dirs : options.dirs.map((dir) => join(dir, runId));
  const wanted = options.out === undefined ? [dirs[0] ?? '.', apart] : [options.out];
  const out = folderApart(dirs, wanted);
  if (watch !== undefined) checkBeforeWait(out, runId);
  const { parts, dead } = watch === undefined ? leftByShards(dirs) : await awaited(options, watch, dirs);
  if (parts.length === 0) throw nothingIn(options, dirs, dead);
  const result = mergeResults(parts, { dead, thresholds, ...(expect !== undefined && { expect }) });
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
  if (runId !== undefined && existsSync(file) && readResult(file).run_id === runId) {
    throw new MergeError(
      `--run-id: the run ${runId} was merged already, in ${file}; accepted: the id of another run, or merge without --watch`,
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
