/** Shards on a shared disk: each leaves `result.json` when it ends and renews `alive.json` while it runs. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from './merge.ts';
import { type FleetResult, fleetResult } from './result.ts';

export const RESULT_FILE = 'result.json';
export const ALIVE_FILE = 'alive.json';

/** A file that should be a result and is not. */
export class ResultError extends Error {
  override name = 'ResultError';
}

/** Writes a file completely or not at all: beside its name, then renames it. */
export function writeAtomically(dir: string, name: string, content: string): void {
  mkdirSync(dir, { recursive: true });
  const beside = join(dir, `.${name}.${process.pid}`);
  writeFileSync(beside, content);
  renameSync(beside, join(dir, name));
}

/** Writes `result.json` and ends the sign of life. */
export function writeResult(dir: string, result: FleetResult): void {
  writeAtomically(dir, RESULT_FILE, `${JSON.stringify(result, null, 1)}\n`);
  rmSync(join(dir, ALIVE_FILE), { force: true });
}

export interface Alive {
  shard: { index: number; count: number };
  /** Goes up while the shard lives; compared with its own earlier value, so that clocks of machines don't matter. */
  beat: number;
  phase: string;
}

export const writeAlive = (dir: string, alive: Alive): void => writeAtomically(dir, ALIVE_FILE, JSON.stringify(alive));

/** What a directory, or the directories in it, hold. */
export interface Found {
  parts: Part[];
  /** Shards with a sign of life and no result. */
  alive: { name: string; sign: Alive }[];
}

/** Throws ResultError that names the file and what is wrong with it. */
export function findShards(dirs: readonly string[]): Found {
  const found: Found = { parts: [], alive: [] };
  for (const dir of dirs) {
    if (!existsSync(dir)) continue;
    const below = readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(dir, entry.name))
      .sort();
    for (const place of [dir, ...below]) {
      const file = join(place, RESULT_FILE);
      const sign = join(place, ALIVE_FILE);
      if (existsSync(file)) found.parts.push({ name: place, result: readResult(file) });
      else if (existsSync(sign))
        found.alive.push({ name: place, sign: JSON.parse(readFileSync(sign, 'utf8')) as Alive });
    }
  }
  // A merged result that was written among its parts is not one of them.
  found.parts = found.parts.filter(({ result }) => result.merged_from === undefined);
  return found;
}

export function readResult(file: string): FleetResult {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ResultError(`${file} is no result of a fleet: ${(error as Error).message}`);
  }
  if (fleetResult.is(value)) return value;
  const [problem] = fleetResult.problems(value);
  throw new ResultError(`${file} is no result of a fleet: ${problem?.path ?? ''} ${problem?.message ?? ''}`.trim());
}

export interface WatchOptions {
  dirs: readonly string[];
  expect: number;
  /** A shard whose sign of life has not changed for so long is dead. */
  deadAfterMs: number;
  /** Shards that never appeared are given up after this time. */
  timeoutMs: number;
  everyMs: number;
  signal: AbortSignal;
  onProgress?(done: number, alive: number): void;
}

/** Waits until every expected shard has left a result or is known not to; resolves with the results and the dead. */
export async function watchShards(options: WatchOptions): Promise<{ parts: Part[]; dead: Map<number, string> }> {
  const { dirs, expect, deadAfterMs, timeoutMs, everyMs, signal } = options;
  const began = performance.now();
  const beats = new Map<number, { beat: number; since: number }>();
  for (;;) {
    const { parts, alive } = findShards(dirs);
    const now = performance.now();
    const dead = new Map<number, string>();
    for (const { name, sign } of alive) {
      const known = beats.get(sign.shard.index);
      if (known === undefined || known.beat !== sign.beat) {
        beats.set(sign.shard.index, { beat: sign.beat, since: now });
      } else if (now - known.since > deadAfterMs) {
        dead.set(
          sign.shard.index,
          `no sign of life in ${name} for ${Math.round((now - known.since) / 1000)} s, in phase ${sign.phase}`,
        );
      }
    }
    options.onProgress?.(parts.length, alive.length - dead.size);
    const settled = parts.length + dead.size >= expect;
    if (settled || signal.aborted || now - began > timeoutMs) return { parts, dead };
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, everyMs);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
