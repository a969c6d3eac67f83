/** Files of shards on a shared disk: a shard renews `alive.json` during its run and writes `result.json` at its end. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { printableJson } from '../../../harness/common/terminal.ts';
import { whyNot, writeWhole } from '../../../harness/common/user-files.ts';
import { poll, pollWithin } from '../../../harness/common/waiting.ts';
import type { Shard } from '../schedule/schedule.ts';
import type { Part } from './merge.ts';
import { type FleetResult, fleetResult } from './result.ts';

export const RESULT_FILE = 'result.json';
export const ALIVE_FILE = 'alive.json';
export const FAILED_FILE = 'failed.json';

export class ResultError extends Error {
  override name = 'ResultError';
}

export class OutputError extends Error {
  override name = 'OutputError';
}

/** Writes a file completely or not at all, and creates the folder. Throws OutputError. */
export function writeFileIn(dir: string, name: string, content: string): void {
  try {
    mkdirSync(dir, { recursive: true });
    writeWhole(join(dir, name), content);
  } catch (error) {
    throw new OutputError(`${join(dir, name)} cannot be written (${whyNot(error)})`, { cause: error });
  }
}

/** Ignores a failed write, because the disk may have room a second later. */
export function ifWritable(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
  }
}

export function writeResult(dir: string, result: FleetResult): void {
  writeFileIn(dir, RESULT_FILE, `${printableJson(result, 1)}\n`);
  rmSync(join(dir, ALIVE_FILE), { force: true });
}

export interface Alive {
  shard: Shard;
  /** Counter that rises while the shard is alive; unlike a time, it needs no common clock. */
  beat: number;
  phase: string;
}

/** Phases before the scenario: generating keys, then waiting for all other shards. */
export const STARTING = 'preparing';
export const READY = 'ready';

export interface Failed {
  shard: Shard;
  reason: string;
}

export const writeFailed = (dir: string, failed: Failed): void => writeFileIn(dir, FAILED_FILE, JSON.stringify(failed));
export const shardFolder = ({ index, count }: Shard): string => `shard-${index}-of-${count}`;
export const writeAlive = (dir: string, alive: Alive): void => writeFileIn(dir, ALIVE_FILE, JSON.stringify(alive));

export interface Found {
  parts: Part[];
  alive: { name: string; sign: Alive }[];
  failed: { name: string; failed: Failed }[];
}

export function findShards(dirs: readonly string[]): Found {
  const found: Found = { parts: [], alive: [], failed: [] };
  for (const dir of dirs) {
    for (const folder of [dir, ...foldersIn(dir).map((name) => join(dir, name))]) {
      const [file, ended] = [join(folder, RESULT_FILE), join(folder, FAILED_FILE)];
      const [failed, sign] = [readJsonFile<unknown>(ended), readJsonFile<unknown>(join(folder, ALIVE_FILE))];
      if (existsSync(file)) found.parts.push({ name: folder, result: readResult(file) });
      else if (isFailed(failed)) found.failed.push({ name: folder, failed });
      else if (existsSync(ended))
        throw new ResultError(
          `${ended} does not say which shard has failed: it is torn, or another file; start it again`,
        );
      else if (isAlive(sign)) found.alive.push({ name: folder, sign });
    }
  }
  found.parts = found.parts.filter(({ result }) => result.merged_from === undefined);
  return found;
}

export function foldersIn(dir: string): string[] {
  const entries = existsSync(dir) ? readdirSync(dir, { withFileTypes: true }) : [];
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

export function isAlive(value: unknown): value is Alive {
  const { shard, beat, phase } = Object(value) as Partial<Alive>;
  return isShard(shard) && Number.isFinite(beat) && typeof phase === 'string';
}

export function isFailed(value: unknown): value is Failed {
  const { shard, reason } = Object(value) as Partial<Failed>;
  return isShard(shard) && typeof reason === 'string';
}

const isShard = (shard: unknown): boolean => {
  const { index, count } = Object(shard) as Partial<Shard>;
  return Number.isInteger(index) && Number.isInteger(count);
};

/** Throws ResultError, which names the file and the mistake. */
export function readResult(file: string): FleetResult {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ResultError(`${file} is not the result of a fleet: ${(error as Error).message}`);
  }
  if (fleetResult.is(value)) return value;
  const [{ path, message } = { path: '', message: '' }] = fleetResult.problems(value);
  throw new ResultError(`${file} is not the result of a fleet: ${path} ${message}`.trim());
}

export interface WatchOptions {
  dirs: readonly string[];
  expect: number;
  deadAfterMs: number;
  timeoutMs: number;
  everyMs: number;
  signal: AbortSignal;
  onProgress?(done: number, alive: number): void;
}

export interface Collected {
  parts: Part[];
  dead: Map<number, string>;
}

export async function watchShards(options: WatchOptions): Promise<Collected> {
  const { dirs, expect, deadAfterMs, timeoutMs, everyMs, signal } = options;
  const silenceOf = silences();
  let collected: Collected = { parts: [], dead: new Map() };
  const look = (): true | undefined => {
    const { parts, alive, failed } = findShards(dirs);
    const dead = reasonsOf(failed);
    for (const { name, sign } of alive) {
      const silentMs = silenceOf(sign);
      if (silentMs <= deadAfterMs) continue;
      const seconds = Math.round(silentMs / 1000);
      dead.set(sign.shard.index, `no sign of life in ${name} for ${seconds} s, in phase ${sign.phase}`);
    }
    collected = { parts, dead };
    options.onProgress?.(parts.length, alive.length + failed.length - dead.size);
    return parts.length + dead.size >= expect || undefined;
  };
  await pollWithin('all shards', look, { timeoutMs, firstPauseMs: everyMs, signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return collected;
}

export function readJsonFile<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

export const reasonsOf = (failed: Found['failed']): Map<number, string> =>
  new Map(failed.map(({ failed: { shard, reason } }) => [shard.index, reason]));

export function silences(): (sign: Alive) => number {
  const beats = new Map<number, { beat: number; since: number }>();
  return ({ shard, beat }) => {
    const now = performance.now();
    const known = beats.get(shard.index);
    if (known?.beat === beat) return now - known.since;
    beats.set(shard.index, { beat, since: now });
    return 0;
  };
}

/** File that `muster merge --watch` renews every second; shards ignore a file that never changes. */
const RUN_FILE = 'run.json';

export class NoRunError extends Error {
  override name = 'NoRunError';
}

/** Announces a run by a file in `dir` until disposed. Throws OutputError. */
export function announceRun(dir: string, runId: string): Disposable {
  let beat = 0;
  const renew = (): void => {
    beat += 1;
    writeFileIn(dir, RUN_FILE, JSON.stringify({ run_id: runId, beat }));
  };
  renew();
  const timer = setInterval(() => ifWritable(renew), 1000);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      rmSync(join(dir, RUN_FILE), { force: true });
    },
  };
}

/** Resolves with the id of the announced run. Rejects with NoRunError or the signal's reason. */
export async function announcedRun(dir: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
  const file = join(dir, RUN_FILE);
  let before: string | undefined;
  const look = (): string | undefined => {
    const sign = readJsonFile<{ run_id: string; beat: number }>(file);
    const now = `${sign?.run_id} ${sign?.beat}`;
    const changed = before !== undefined && now !== before;
    before = now;
    return changed ? sign?.run_id : undefined;
  };
  const problem =
    `--run-id auto: nobody announced a run in ${dir} for ${timeoutMs / 1000} s; is 'muster merge ${dir} ` +
    `--watch --run-id …' running?`;
  const timeoutError = () => new NoRunError(problem);
  return await poll('a run', look, { timeoutMs, firstPauseMs: 250, signal, timeoutError });
}
