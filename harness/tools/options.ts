/**
 * What a tool has from its command line and leaves behind: options, parsed by yargs from a table of each tool, so that
 * help and usage errors are the same everywhere; work beside each other; and results for `.ci/`.
 */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import yargs, { type InferredOptionTypes, type Options } from 'yargs';
import { EXIT } from '../common/usage.ts';

/**
 * A whole number from `least` on: with none of something that does the work, a tool would do nothing and report
 * success.
 */
export const count = <D extends number | undefined>(describe: string, otherwise: D, least = 1) => ({
  type: 'number' as const,
  requiresArg: true,
  describe,
  default: otherwise,
  coerce: (given: number): number | D => {
    if (given !== otherwise && (!Number.isSafeInteger(given) || given < least))
      throw new Error(`must be a whole number from ${least} on: ${describe}`);
    return given;
  },
});

/** A number that is drawn when none is given. */
export const seed = (describe: string) => count(`${describe} (drawn, and printed)`, Date.now() % 2 ** 31, 0);

/** A number above 0. */
export const amount = (describe: string, otherwise: number) => ({
  type: 'number' as const,
  requiresArg: true,
  describe,
  default: otherwise,
  coerce: (given: number): number => {
    if (!(given > 0)) throw new Error(`must be a number above 0: ${describe}`);
    return given;
  },
});

/** Names with commas between them; undefined when the option is absent. */
export const names = <N extends string>(describe: string, known: readonly N[]) => ({
  type: 'string' as const,
  requiresArg: true,
  describe,
  coerce: (given: string): N[] | undefined => knownOf(given.split(','), known),
});

/** Throws with those that are unknown. */
export function knownOf<N extends string>(given: readonly string[], known: readonly N[]): N[] {
  const unknown = given.filter((name) => known.every((one) => one !== name));
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: unknown; known are ${known.join(', ')}`);
  return given as N[];
}

/**
 * The values of the options, and in `_` what stands without one, which has to be among `loose`. `--help` prints what
 * they mean, and ends the process; a usage error ends it with 64.
 */
export function toolOptions<O extends Record<string, Options>>(
  usage: string,
  options: O,
  { words = process.argv.slice(2), loose = [] }: { words?: readonly string[]; loose?: readonly string[] } = {},
): InferredOptionTypes<O> & { _: string[] } {
  const cli = yargs([...words])
    .scriptName('')
    .usage(usage)
    .options(Object.fromEntries(Object.entries(options).map(([name, option]) => [name, once(name, option)])))
    .parserConfiguration({ 'parse-positional-numbers': false })
    .version(false)
    .strictOptions()
    .wrap(120)
    .check(({ _: given }) => knownOf(given.map(String), loose).length >= 0)
    .fail((message, error) => refuse(message ?? error.message));
  return cli.parseSync() as unknown as InferredOptionTypes<O> & { _: string[] };
}

/** What is given twice comes as a list. */
const once = (name: string, option: Options): Options => ({
  ...option,
  coerce: (given: unknown): unknown => {
    if (Array.isArray(given)) throw new Error(`--${name}: given twice; accepted: once`);
    return option.coerce === undefined ? given : option.coerce(given);
  },
});

/** Ends the process with the message, as after a usage error. */
export function refuse(message: string): never {
  process.stderr.write(`${message}; see --help\n`);
  process.exit(EXIT.usage);
}

interface Tested {
  fullName: string;
  duration?: number;
  /** Of one that failed. */
  failureMessages?: string[];
}

/** Leaves them as vitest reports tests where `.ci/` asks for that. `passed`: how many passed. */
export function writeTestResults(file: string, passed: number, tests: readonly Tested[]): void {
  const report = process.env['MUSTER_TEST_RESULTS'];
  if (report === undefined) return;
  const statusOf = ({ failureMessages }: Tested) => (failureMessages === undefined ? 'passed' : 'failed');
  const assertionResults = tests.map((test) => ({ ...test, status: statusOf(test) }));
  const results = {
    numPassedTests: passed,
    numFailedTests: assertionResults.filter(({ status }) => status === 'failed').length,
    testResults: [{ name: file, assertionResults }],
  };
  writeFileSync(report, JSON.stringify(results));
}
