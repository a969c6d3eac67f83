/** Crashes at seeded points of seeded histories: what the matrix of each API shares. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Random, random } from '../../../simulators/common/random.ts';
import { leave, type Step } from '../../../simulators/common/testing/scratch.ts';

/** How many crashes to inject, and where. */
export interface CrashOptions {
  /** Draws the moments and the kinds of crashes: the same ones for the same seed. */
  seed: number;
  /** Crashes to inject. */
  points: number;
  /** Crashes that share a history; the matrix knows what is quickest. */
  pointsEach?: number;
  /** An empty folder, removed by the caller. */
  dir: string;
}

/** What a crash matrix found. */
export interface CrashResult {
  /** Points that were tried. */
  points: number;
  /** Faults injected by kind, e.g. `{ ENOSPC: 40, 'power loss': 900 }`. */
  injected: Record<string, number>;
  /** Acknowledged records that were not there afterwards. */
  lost: number;
  /** What was wrong, each with the seed and the point that show it again. Empty when nothing was. */
  violations: string[];
}

/** `crash-device.ts` and `crash-platform.ts` each export one. */
export type CrashMatrix = (options: CrashOptions) => Promise<CrashResult>;

/** What was done to a folder, and how it went. */
export interface History {
  steps: readonly Step[];
  /** Operations that were made to fail, by kind. */
  failures: ReadonlyMap<string, number>;
  /** How it stores, for a message. */
  mode: string;
  /** What was wrong already while it was made. */
  problems?: readonly string[];
}

/** A crash after so many steps of a history, of which `folder` holds what is left. */
export interface Crash {
  after: number;
  powerLoss: boolean;
  folder: string;
}

/** How a matrix makes histories and judges what is left of them. */
export interface CrashSubject<H extends History> {
  /** Points that share a history. */
  pointsEach: number;
  /** Makes a history in a new folder. */
  live(source: Random, folder: string): Promise<H>;
  /** Whether the step before the crash may not have been over yet; `false` when somebody knew of its end. */
  underWay(history: H, after: number): boolean;
  judge(history: H, crash: Crash): Promise<{ lost: number; problems: string[] }>;
}

/** Resolves with what was tried and found. */
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
    const history = await subject.live(source, lived);
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
