/**
 * `npm run soak`: long runs of the simulators and the harness as real processes. A run exits with 1 when anything was lost or grows.
 */
import process from 'node:process';
import { refuse } from '../options.ts';
import { runCrash } from './crash.ts';
import { runKills } from './kills.ts';

const HELP = `npm run soak -- [crash|kills] [options]

  crash   power loss, full disks and torn writes at seeded points of every write
  kills   a device that is killed under load

Each has its own --help. Exit codes: 0 nothing was lost, 1 something was, 64 usage error.
`;

const COURSES: Record<string, (words: readonly string[]) => Promise<boolean>> = {
  crash: runCrash,
  kills: runKills,
};

const [first = '', ...rest] = process.argv.slice(2);
if (first === '--help' || first === '') {
  process.stdout.write(HELP);
} else {
  const course = COURSES[first] ?? refuse(`${first}: unknown`, HELP);
  process.exitCode = (await course(rest)) ? 0 : 1;
}
