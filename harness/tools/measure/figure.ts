/** What all benches share: the line that they print, and what they measure with. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { defined } from '../../common/defined.ts';

export const KIB = 1024;
export const MIB = 2 ** 20;

/** One line of `npm run bench`: a measurement against the floor measured in the same run. */
export interface Figure {
  name: string;
  value: number;
  /** What the machine does at best, in the same unit; absent where a goal is absolute. */
  floor?: number;
  /** `value / floor`. */
  ratio?: number;
  /** The goal in words, e.g. `≥ 0.9 × floor`. */
  goal: string;
  unit: string;
  met: boolean;
  /** Said when the goal is not met: where it went, or what stands beside it. */
  why?: string;
}

/** The goal is a share of the floor. */
export function ofFloor(name: string, value: number, floor: number, share: number, unit: string): Figure {
  const ratio = value / floor;
  return { name, value, floor, ratio, goal: `≥ ${share} × floor`, unit, met: ratio >= share };
}

/** The goal is an upper limit, whatever the floor. */
export function atMost(name: string, value: number, limit: number, unit: string, floor?: number): Figure {
  const beside = defined({ floor, ratio: floor && value / floor });
  return { name, value, ...beside, goal: `≤ ${limit} ${unit}`, unit, met: value <= limit };
}

/** Runs `use` with a directory of its own, which is removed afterwards. */
export async function inScratch<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-'));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The middle value; 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** Memory of this process once nothing is left to collect. */
export async function settledMemory(): Promise<NodeJS.MemoryUsage> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Keys, sockets and buffers outside the heap are only given back some turns after they are collected.
  for (let round = 0; round < 5; round++) {
    collect();
    await wait(100);
  }
  return process.memoryUsage();
}

/**
 * Bytes by which a process has grown. What the warm-up left free is taken again before the process grows, so that
 * growth alone may say too little.
 */
export const grown = (before: NodeJS.MemoryUsage, after: NodeJS.MemoryUsage): number =>
  Math.max(after.rss - before.rss, after.heapUsed + after.external - before.heapUsed - before.external);
