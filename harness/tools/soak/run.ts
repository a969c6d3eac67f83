/** `npm run soak`: long runs of simulators and harness as processes; exits with 1 after a loss or growth. */
import process from 'node:process';
import { readableDuration } from '../../common/units.ts';
import { exitWithUsage } from '../options.ts';
import { crash } from './crash.ts';
import { ends } from './ends.ts';
import { mixed } from './mixed.ts';
import { faults, Undecided } from './reconnect-storms.ts';
import { watch } from './watched.ts';

interface Soak {
  about: string;
  run(words: readonly string[], say: (line: string) => void): Promise<readonly string[]>;
}

const SOAKS: Record<string, Soak> = { mixed, crash, ends, faults, watch };
const HELP = `npm run soak -- [${Object.keys(SOAKS).join('|')}] [options]

${Object.entries(SOAKS)
  .map(([name, { about }]) => `  ${name.padEnd(6)}  ${about}\n`)
  .join('')}
Without a name, mixed. Each has its own --help. Exit codes: 0 all held, 1 something was lost or grows, 2 undecided, \
64 usage error.`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const words = process.argv.slice(2);
if (words[0] === '--help') say(HELP);
else {
  const [name = '', ...rest] = words[0]?.startsWith('-') === false ? words : ['mixed', ...words];
  const { run } = SOAKS[name] ?? exitWithUsage(`${name}: unknown`);
  const started = performance.now();
  try {
    const problems = await run(rest, say);
    for (const problem of problems.slice(0, 20)) say(`✗ ${problem}`);
    say(`${name}: ${problems.length} problems in ${readableDuration(performance.now() - started)}`);
    process.exitCode = Number(problems.length > 0);
  } catch (error) {
    if (!(error instanceof Undecided)) throw error;
    say(`undecided: ${error.message}`);
    process.exitCode = 2;
  }
}
