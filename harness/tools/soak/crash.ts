/** `npm run soak -- crash`: what each API has stored must survive a crash at any step of a write. */
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { readableDuration } from '../../common/durations.ts';
import { countOf, refuse, toolOptions } from '../options.ts';

/** How many crashes to inject, and where. */
export interface CrashOptions {
  /** Draws the moments and the kinds of crashes: the same ones for the same seed. */
  seed: number;
  /** Crashes to inject. */
  points: number;
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

/** `crash-device.ts` and `crash-platform.ts` each export one as `crashMatrix`. */
export type CrashMatrix = (options: CrashOptions) => Promise<CrashResult>;

const HELP = `npm run soak -- crash [options]
  --points N               crashes to inject, in each API (10000)
  --seed S                 draws their moments and kinds (drawn, and printed)
  --api device|platform    one of them
`;
const APIS = ['device', 'platform'] as const;
const MOST_SHOWN = 10;

const fileOf = (api: string): string => fileURLToPath(new URL(`crash-${api}.ts`, import.meta.url));

/** Resolves with whether nothing was lost. */
export async function runCrash(words: readonly string[]): Promise<boolean> {
  const values = toolOptions(
    HELP,
    { points: { type: 'string', default: '10000' }, seed: { type: 'string' }, api: { type: 'string' } },
    words,
  );
  const points = countOf('points', values.points, HELP);
  const seed = countOf('seed', values.seed ?? String(Date.now() % 2 ** 31), HELP, 0);
  const asked = APIS.filter((api) => (values.api ?? api) === api);
  if (asked.length === 0) refuse(`--api ${values.api}: unknown; known are ${APIS.join(', ')}`, HELP);
  // Where nothing was tried, nothing has held.
  let held = asked.some((api) => existsSync(fileOf(api)));
  for (const api of asked) {
    const file = fileOf(api);
    if (!existsSync(file)) continue;
    const { crashMatrix } = (await import(file)) as { crashMatrix: CrashMatrix };
    using folder = scratch();
    const started = performance.now();
    const result = await crashMatrix({ seed, points, dir: folder.path });
    show(api, seed, result, readableDuration(performance.now() - started));
    held &&= result.violations.length === 0 && result.lost === 0 && result.points >= points;
  }
  return held;
}

function show(api: string, seed: number, { points, injected, lost, violations }: CrashResult, took: string): void {
  for (const violation of violations.slice(0, MOST_SHOWN)) process.stdout.write(`✗ ${violation}\n`);
  if (violations.length > MOST_SHOWN) process.stdout.write(`  and ${violations.length - MOST_SHOWN} more\n`);
  const kinds = Object.entries(injected).map(([kind, count]) => `${count} × ${kind}`);
  process.stdout.write(
    `${api}: ${points} points in ${took}, seed ${seed} (${kinds.join(', ')}): ${lost} lost, ${violations.length} violations\n`,
  );
}
