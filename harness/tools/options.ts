import { writeFileSync } from 'node:fs';
import process from 'node:process';
import yargs, { type InferredOptionTypes, type Options } from 'yargs';
import { EXIT } from '../common/usage.ts';

const numeric = (describe: string, otherwise: number, accepted: string, isFine: (given: number) => boolean) => ({
  type: 'number' as const,
  requiresArg: true,
  describe,
  default: otherwise,
  coerce: (given: number): number => {
    if (!isFine(given)) throw new Error(`must be ${accepted}: ${describe}`);
    return given;
  },
});

const isWhole = (least: number) => (given: number) => Number.isSafeInteger(given) && given >= least;

/** Whole number of at least `least`; a tool with 0 runs would report success without a test. */
export const count = (describe: string, otherwise: number, least = 1) =>
  numeric(describe, otherwise, `a whole number from ${least} on`, isWhole(least));

export const seed = (describe: string) => count(`${describe} (drawn, and printed)`, Date.now() % 2 ** 31, 0);

export const amount = (describe: string, otherwise: number) =>
  numeric(describe, otherwise, 'a number above 0', (given) => given > 0);

export const names = <N extends string>(describe: string, known: readonly N[]) => ({
  type: 'string' as const,
  requiresArg: true,
  describe,
  coerce: (given: string): N[] | undefined => knownOf(given.split(','), known),
});

export function knownOf<N extends string>(given: readonly string[], known: readonly N[]): N[] {
  const unknown = given.filter((name) => known.every((one) => one !== name));
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: unknown; known are ${known.join(', ')}`);
  return given as N[];
}

/** `--help` and usage errors end the process. `loose`: accepted words without an option, listed as `_`. */
export function toolOptions<O extends Record<string, Options>>(
  usage: string,
  options: O,
  { words = process.argv.slice(2), loose = [] }: { words?: readonly string[]; loose?: readonly string[] } = {},
): InferredOptionTypes<O> & { _: string[] } {
  // Yargs passes the values of a repeated option as a list.
  const once = Object.entries(options).map(([name, option]): [string, Options] => {
    const coerce = (given: unknown): unknown => {
      if (Array.isArray(given)) throw new Error(`--${name}: given twice; accepted: once`);
      return option.coerce === undefined ? given : option.coerce(given);
    };
    return [name, { ...option, coerce }];
  });
  const cli = yargs([...words])
    .scriptName('')
    .usage(usage)
    .options(Object.fromEntries(once))
    .parserConfiguration({ 'parse-positional-numbers': false })
    .version(false)
    .strictOptions()
    .wrap(120)
    .check(({ _: given }) => knownOf(given.map(String), loose).length >= 0)
    .fail((message, error) => exitWithUsage(message ?? error.message));
  return cli.parseSync() as unknown as InferredOptionTypes<O> & { _: string[] };
}

export function exitWithUsage(message: string): never {
  process.stderr.write(`${message}; see --help\n`);
  process.exit(EXIT.usage);
}

interface Tested {
  fullName: string;
  duration?: number;
  failureMessages?: string[];
}

/** Writes results in vitest's JSON format to the file that `.ci/steps.ts` names; writes nothing without that name. */
export function writeTestResults(file: string, passed: number, tests: readonly Tested[]): void {
  const report = process.env['MUSTER_TEST_RESULTS'];
  if (report === undefined) return;
  const assertionResults = tests.map((test) => {
    return { ...test, status: test.failureMessages === undefined ? 'passed' : 'failed' };
  });
  const results = {
    numPassedTests: passed,
    numFailedTests: assertionResults.filter(({ status }) => status === 'failed').length,
    testResults: [{ name: file, assertionResults }],
  };
  writeFileSync(report, JSON.stringify(results));
}
