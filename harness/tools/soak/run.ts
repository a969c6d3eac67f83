/**
 * `npm run soak`: long runs of the simulators and the harness as real processes. A run exits with 1 when anything was lost or grows.
 */
import process from 'node:process';
import { refuse } from '../options.ts';
import { runCrash } from './crash.ts';
import { runFaults } from './faults.ts';
import { runKills } from './kills.ts';
import { runMixed } from './mixed.ts';

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
