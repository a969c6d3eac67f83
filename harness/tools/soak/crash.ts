/** `npm run soak -- crash`: what each API has stored must survive a crash at any step of a write. */
import { accessSync, constants } from 'node:fs';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { readableDuration } from '../../common/durations.ts';
import { countOf, refuse, toolOptions } from '../options.ts';
import { crashMatrix as crashDevice } from './crash-device.ts';
import { crashMatrix as crashPlatform } from './crash-platform.ts';
import type { CrashMatrix, CrashResult } from './crash-points.ts';

const HELP = `npm run soak -- crash [options]
  --points N               crashes to inject, in each API (10000)
  --seed S                 draws their moments and kinds (drawn, and printed)
  --api device|platform    one of them
`;
const MATRICES = { device: crashDevice, platform: crashPlatform } satisfies Record<string, CrashMatrix>;
const APIS = Object.keys(MATRICES) as (keyof typeof MATRICES)[];
const MEMORY = '/dev/shm';
const MOST_SHOWN = 10;

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
  let held = true;
  for (const api of asked) {
    using folder = scratch(inMemory());
    const started = performance.now();
    const result = await MATRICES[api]({ seed, points, dir: folder.path });
    show(api, seed, result, readableDuration(performance.now() - started));
    held &&= result.violations.length === 0 && result.lost === 0 && result.points >= points;
  }
  return held;
}

/** A folder in memory where there is one: what is left on a disk is worked out, and need not be waited for. */
function inMemory(): string | undefined {
  try {
    accessSync(MEMORY, constants.W_OK);
    return MEMORY;
  } catch {
    return undefined;
  }
}

function show(api: string, seed: number, { points, injected, lost, violations }: CrashResult, took: string): void {
  for (const violation of violations.slice(0, MOST_SHOWN)) process.stdout.write(`✗ ${violation}\n`);
  if (violations.length > MOST_SHOWN) process.stdout.write(`  and ${violations.length - MOST_SHOWN} more\n`);
  const kinds = Object.entries(injected).map(([kind, count]) => `${count} × ${kind}`);
  process.stdout.write(
    `${api}: ${points} points in ${took}, seed ${seed} (${kinds.join(', ')}): ${lost} lost, ${violations.length} violations\n`,
  );
}
