/** Crashes at seeded points of seeded histories: common part of the matrices of each API. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Random, random } from '../../../simulators/common/random.ts';
import { leave, type Step } from '../../../simulators/common/testing/scratch.ts';

export interface CrashOptions {
  /** Seed of the moments and kinds of crashes. */
  seed: number;
  points: number;
  /** Crashes that share a history; default: the quickest for the matrix. */
  pointsEach?: number;
  /** An empty folder, removed by the caller. */
  dir: string;
}

export interface CrashResult {
  /** Crashes that were tried. */
  points: number;
  /** Faults injected by kind, e.g. `{ ENOSPC: 40, 'power loss': 900 }`. */
  injected: Record<string, number>;
  /** Acknowledged records that were lost. */
  lost: number;
  /** Problems, each with the seed and the point that show it again. */
  violations: string[];
}

/** `crash-device.ts` and `crash-platform.ts` each export one. */
export type CrashMatrix = (options: CrashOptions) => Promise<CrashResult>;

/** Recorded operations on a folder. */
export interface History {
  steps: readonly Step[];
  /** Operations that were made to fail, by kind. */
  failures: ReadonlyMap<string, number>;
  /** Way of storing, for a message. */
  mode: string;
  /** Problems before any crash. */
  problems?: readonly string[];
}

/** Crash after a number of steps of a history, with the resulting state in `folder`. */
export interface Crash {
  after: number;
  powerLoss: boolean;
  folder: string;
}

/** Subject of a matrix: makes histories and judges the states after crashes. */
export interface CrashSubject<H extends History> {
  /** Points that share a history. */
  pointsEach: number;
  /** Makes a history in a new folder. */
  runLog(source: Random, folder: string): Promise<H>;
  /** Whether the step before the crash may have been unfinished; `false` when a client knew of its end. */
  underWay(history: H, after: number): boolean;
  judge(history: H, crash: Crash): Promise<{ lost: number; problems: string[] }>;
}

/** Resolves with the crashes and their problems. */
export async function tryPoints<H extends History>(
  { seed, points, dir, pointsEach }: CrashOptions,
  subject: CrashSubject<H>,
): Promise<CrashResult> {
  const result: CrashResult = { points, injected: {}, lost: 0, violations: [] };
  const count = (kind: string, by = 1): void => {
    result.injected[kind] = (result.injected[kind] ?? 0) + by;
  };
  for (let done = 0, at = 0; done < points; at += 1) {
    const source = random(`${seed}/${at}`);
    const lived = join(dir, `history${at}`);
    const history = await subject.runLog(source, lived);
    for (const [failure, times] of history.failures) count(failure, times);
    const seen = (where: string, problems: readonly string[]): void => {
      result.violations.push(...problems.map((what) => `seed ${seed}, history ${at}${where}: ${what}`));
    };
    seen(` (${history.mode})`, history.problems ?? []);
    for (let point = 0; point < (pointsEach ?? subject.pointsEach) && done < points; point += 1, done += 1) {
      const after = source.integer(0, history.steps.length);
      const lottery = source.chance(0.7) ? source.fork(`power loss ${point}`) : undefined;
      const kind = lottery ? 'power loss' : 'kill';
      count(kind);
      const folder = join(dir, `point${done}`);
      mkdirSync(folder);
      leave(history.steps, after, folder, lottery && { lottery, underWay: subject.underWay(history, after) });
      const found = await subject.judge(history, { after, powerLoss: lottery !== undefined, folder });
      result.lost += found.lost;
      seen(
        `, point ${point} (${history.mode}, ${kind} after step ${after} of ${history.steps.length})`,
        found.problems,
      );
      rmSync(folder, { recursive: true });
    }
    rmSync(lived, { recursive: true });
  }
  return result;
}
