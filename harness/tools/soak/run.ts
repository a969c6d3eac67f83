/**
 * `npm run soak`: long runs of the simulators and the harness as real processes. A run exits with 1 when anything was
 * lost or grows.
 */

import { accessSync, constants } from 'node:fs';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { killLoop } from '../../../simulators/device/testing/kill-loop.ts';
import { readableDuration } from '../../common/durations.ts';
import { countOf, refuse, toolOptions } from '../options.ts';
import { crashMatrix as crashDevice } from './crash-device.ts';
import { crashMatrix as crashPlatform } from './crash-platform.ts';
import type { CrashMatrix, CrashResult } from './crash-points.ts';
import { runMixed } from './mixed.ts';
import { reconnectStorms, Undecided } from './reconnect-storms.ts';

const CRASH_HELP = `npm run soak -- crash [options]
  --points N               crashes to inject, in each API (10000)
  --seed S                 draws their moments and kinds (drawn, and printed)
  --api device|platform    one of them
`;
const MATRICES = { device: crashDevice, platform: crashPlatform } satisfies Record<string, CrashMatrix>;
const APIS = Object.keys(MATRICES) as (keyof typeof MATRICES)[];
const MEMORY = '/dev/shm';
const MOST_SHOWN = 10;

/** Resolves with whether nothing was lost. */
async function runCrash(words: readonly string[]): Promise<boolean> {
  const values = toolOptions(
    CRASH_HELP,
    { points: { type: 'string', default: '10000' }, seed: { type: 'string' }, api: { type: 'string' } },
    words,
  );
  const points = countOf('points', values.points, CRASH_HELP);
  const seed = countOf('seed', values.seed ?? String(Date.now() % 2 ** 31), CRASH_HELP, 0);
  const asked = APIS.filter((api) => (values.api ?? api) === api);
  if (asked.length === 0) refuse(`--api ${values.api}: unknown; known are ${APIS.join(', ')}`, CRASH_HELP);
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
    `${api}: ${points} points in ${took}, seed ${seed} (${kinds.join(', ')}): ${lost} lost, ` +
      `${violations.length} violations\n`,
  );
}

const FAULTS_HELP = `npm run soak -- faults [options]
  --robots N    robots of the fleet (5000)
  --seed S      of the fleet (1)

A platform that keeps a file, and a fleet with three roll-outs. In the first one the platform is killed with its broker, in the second it
ends by SIGTERM; both times it comes back, and all robots reconnect at once. Afterwards the robots' event logs are compared with its records.
It waits for robots and deployments and not for a time. It is undecided (exit code 2) when nothing moves for three minutes.
`;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Resolves with whether platform and robots agree, and the fleet says what happened; `undecided` when a storm could not
 * be made.
 */
async function runFaults(words: readonly string[]): Promise<boolean | 'undecided'> {
  const options = { robots: { type: 'string', default: '5000' }, seed: { type: 'string', default: '1' } } as const;
  const values = toolOptions(FAULTS_HELP, options, words);
  const robots = countOf('robots', values.robots, FAULTS_HELP);
  const seed = countOf('seed', values.seed, FAULTS_HELP, 0);
  using folder = scratch();
  const interrupt = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => interrupt.abort(new Error(`ended by ${signal}`));
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const started = performance.now();
  const say = (line: string): void =>
    void process.stdout.write(`${readableDuration(performance.now() - started)}: ${line}\n`);
  try {
    const { signal } = interrupt;
    const { problems, figures } = await reconnectStorms({ robots, seed, dir: folder.path, say, signal });
    for (const problem of problems.slice(0, MOST_SHOWN)) process.stdout.write(`✗ ${problem}\n`);
    if (problems.length > MOST_SHOWN) process.stdout.write(`  and ${problems.length - MOST_SHOWN} more\n`);
    const list = Object.entries(figures).map(([what, count]) => `${count.toLocaleString('en')} ${what}`);
    say(`${list.join(', ')}: ${problems.length} problems`);
    return problems.length === 0;
  } catch (error) {
    if (!(error instanceof Undecided)) {
      say(`✗ ${(error as Error).message}`);
      return false;
    }
    say(`undecided: ${error.message}`);
    return 'undecided';
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

const KILLS_HELP = `npm run soak -- kills [options]
  --rounds N    kills (200)
  --seed S      draws when each one comes (drawn, and printed)
`;

/** Resolves with whether nothing was lost. */
async function runKills(words: readonly string[]): Promise<boolean> {
  const values = toolOptions(
    KILLS_HELP,
    { rounds: { type: 'string', default: '200' }, seed: { type: 'string' } },
    words,
  );
  const seed = values.seed ?? String(Date.now());
  const { kills, seen, acknowledged, latest, problems } = await killLoop({
    rounds: countOf('rounds', values.rounds, KILLS_HELP),
    seed,
  });
  for (const problem of problems) process.stdout.write(`✗ ${problem}\n`);
  process.stdout.write(
    `device: ${kills} kills, seed ${seed}: ${latest} events, ${acknowledged} acknowledged, the last ${seen} ` +
      `seen by clients compared: ${problems.length} problems\n`,
  );
  return problems.length === 0 && acknowledged > 0;
}

const HELP = `npm run soak -- [mixed|crash|kills|faults] [options]

  mixed   simulators and harness under mixed load, 30 minutes long (what runs without a name)
  crash   power loss, full disks and torn writes at seeded points of every write
  kills   a device that is killed under load
  faults  a platform that dies and comes back under 5,000 robots

Each has its own --help. Exit codes: 0 all held, 1 something was lost or grows, 2 undecided, 64 usage error.
`;

const COURSES: Record<string, (words: readonly string[]) => Promise<boolean | 'undecided'>> = {
  mixed: runMixed,
  crash: runCrash,
  kills: runKills,
  faults: runFaults,
};

const words = process.argv.slice(2);
const [first = ''] = words;
if (first === '--help') {
  process.stdout.write(HELP);
} else {
  const [name, rest] = first === '' || first.startsWith('-') ? ['mixed', words] : [first, words.slice(1)];
  const course = COURSES[name] ?? refuse(`${name}: unknown`, HELP);
  const held = await course(rest);
  process.exitCode = held === 'undecided' ? 2 : Number(!held);
}
