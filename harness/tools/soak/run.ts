/**
 * `npm run soak`: long runs of the simulators and the harness as real processes. Exits with 1 when anything was lost or
 * grows.
 */

import { accessSync, constants } from 'node:fs';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { killLoop } from '../../../simulators/device/testing/kill-loop.ts';
import { readableDuration } from '../../common/durations.ts';
import { count, exitWithUsage, seed, toolOptions } from '../options.ts';
import { crashMatrix } from './crash.ts';
import { randomEnds } from './ends.ts';
import { runMixed } from './mixed.ts';
import { reconnectStorms, Undecided } from './reconnect-storms.ts';
import { runWatched } from './watched.ts';

const write = (text: string): void => void process.stdout.write(text);
const MOST_SHOWN = 10;

function show(problems: readonly string[]): void {
  for (const problem of problems.slice(0, MOST_SHOWN)) write(`✗ ${problem}\n`);
  if (problems.length > MOST_SHOWN) write(`  and ${problems.length - MOST_SHOWN} more\n`);
}

const MEMORY = '/dev/shm';

/** Resolves with whether nothing was lost. */
async function runCrash(words: readonly string[]): Promise<boolean> {
  const options = { points: count('crashes to inject', 10_000), seed: seed('draws their moments and kinds') };
  const { points, seed: drawn } = toolOptions('npm run soak -- crash [options]', options, { words });
  using folder = scratch(inMemory());
  const { injected, violations } = await crashMatrix({ seed: drawn, points, dir: folder.path });
  show(violations);
  const kinds = Object.entries(injected).map(([kind, times]) => `${times} × ${kind}`);
  write(`device: ${points} points, seed ${drawn} (${kinds.join(', ')}): ${violations.length} violations\n`);
  return violations.length === 0;
}

/** Folder in memory, if there is one: states on a disk are computed, and need no durability. */
function inMemory(): string | undefined {
  try {
    accessSync(MEMORY, constants.W_OK);
    return MEMORY;
  } catch {
    return undefined;
  }
}

const FAULTS = `npm run soak -- faults [options]

A platform that keeps a file, and a fleet with three roll-outs. In the first one the platform is killed with its \
broker, in the second it
ends by SIGTERM; both times it comes back, and all robots reconnect at once. Afterwards the robots' event logs are \
compared with its records.
It waits for robots and deployments and not for a time. It is undecided (exit code 2) when nothing moves for three \
minutes.`;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Resolves with whether platform and robots agree, and the fleet's result is complete; `undecided` when a storm could
 * not be made.
 */
async function runFaults(words: readonly string[]): Promise<boolean | 'undecided'> {
  const options = { robots: count('robots of the fleet', 5000), seed: count('seed of the fleet', 1, 0) };
  const { robots, seed: given } = toolOptions(FAULTS, options, { words });
  using folder = scratch();
  const interrupt = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => interrupt.abort(new Error(`ended by ${signal}`));
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const started = performance.now();
  const say = (line: string): void => write(`${readableDuration(performance.now() - started)}: ${line}\n`);
  try {
    const { signal } = interrupt;
    const { problems, figures } = await reconnectStorms({ robots, seed: given, dir: folder.path, say, signal });
    show(problems);
    const list = Object.entries(figures).map(([what, times]) => `${times.toLocaleString('en')} ${what}`);
    say(`${list.join(', ')}: ${problems.length} problems`);
    return problems.length === 0;
  } catch (error) {
    const undecided = error instanceof Undecided;
    say(`${undecided ? 'undecided:' : '✗'} ${(error as Error).message}`);
    return undecided ? 'undecided' : false;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

/** Resolves with whether nothing was lost, or left. */
async function runKills(words: readonly string[]): Promise<boolean> {
  const options = {
    rounds: count('kills of a device', 200),
    ends: count('in place of these: ends of all commands, by every signal and with their terminal', undefined),
    seed: seed('draws when each one comes'),
  };
  const { rounds, ends, seed: drawn } = toolOptions('npm run soak -- kills [options]', options, { words });
  if (ends !== undefined) return await runEnds(ends, drawn);
  const { kills, seen, acknowledged, latest, problems } = await killLoop({ rounds, seed: String(drawn) });
  show(problems);
  write(`device: ${kills} kills, seed ${drawn}: ${latest} events, ${acknowledged} acknowledged, the last ${seen} `);
  write(`seen by clients compared: ${problems.length} problems\n`);
  return problems.length === 0 && acknowledged > 0;
}

/** Resolves with whether nothing was left. */
async function runEnds(ends: number, drawn: number): Promise<boolean> {
  using folder = scratch();
  const say = (line: string): void => write(`${line}\n`);
  const { problems, inTheMiddle } = await randomEnds({ ends, seed: drawn, dir: folder.path, say });
  show(problems);
  write(`commands: ${ends} ends, ${inTheMiddle} of them in the middle, seed ${drawn}: ${problems.length} problems\n`);
  return problems.length === 0 && inTheMiddle > 0;
}

const HELP = `npm run soak -- [mixed|crash|kills|faults|watch] [options]

  mixed   simulators and harness under mixed load, 30 minutes long (what runs without a name)
  crash   power loss, full disks and torn writes at seeded points of every write
  kills   a device that is killed under load; with --ends, all commands end at any moment
  faults  a platform that dies and comes back under 5,000 robots
  watch   correct servers and clients with muster watch between them, 30 minutes long

Each has its own --help. Exit codes: 0 all held, 1 something was lost or grows, 2 undecided, 64 usage error.
`;

const COURSES: Record<string, (words: readonly string[]) => Promise<boolean | 'undecided'>> = {
  mixed: runMixed,
  crash: runCrash,
  kills: runKills,
  faults: runFaults,
  watch: runWatched,
};

const words = process.argv.slice(2);
const [first = ''] = words;
if (first === '--help') write(HELP);
else {
  const [name, rest] = first === '' || first.startsWith('-') ? ['mixed', words] : [first, words.slice(1)];
  const course = COURSES[name] ?? exitWithUsage(`${name}: unknown`);
  const held = await course(rest);
  process.exitCode = held === 'undecided' ? 2 : Number(!held);
}
