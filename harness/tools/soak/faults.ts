/** `npm run soak -- faults`: the platform with its broker dies and comes back under a whole fleet; nothing may be lost or applied twice. */
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { readableDuration } from '../../common/durations.ts';
import { countOf, toolOptions } from '../options.ts';
import { reconnectStorms, Undecided } from './reconnect-storms.ts';

const HELP = `npm run soak -- faults [options]
  --robots N    robots of the fleet (5000)
  --seed S      of the fleet (1)

A platform that keeps a file, and a fleet with three roll-outs. In the first one the platform is killed with its broker, in the second it
ends by SIGTERM; both times it comes back, and all robots reconnect at once. Afterwards the robots' event logs are compared with its records.
It waits for robots and deployments and not for a time. It is undecided (exit code 2) when nothing moves for three minutes.
`;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const MOST_SHOWN = 10;

/** Resolves with whether platform and robots agree, and the fleet says what happened; `undecided` when a storm could not be made. */
export async function runFaults(words: readonly string[]): Promise<boolean | 'undecided'> {
  const options = { robots: { type: 'string', default: '5000' }, seed: { type: 'string', default: '1' } } as const;
  const values = toolOptions(HELP, options, words);
  const robots = countOf('robots', values.robots, HELP);
  const seed = countOf('seed', values.seed, HELP, 0);
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
