/** What holds for the options of every command: each is given once, and with a value of its kind. */
import process from 'node:process';
import type { Argv } from 'yargs';
import { UsageError } from '../common/usage-error.ts';

/** Of what `getOptions` of yargs tells. */
interface Declared {
  key: Record<string, unknown>;
  array: readonly string[];
  boolean: readonly string[];
  number: readonly string[];
}

const declared = (argv: Argv): Declared => (argv as unknown as { getOptions(): Declared }).getOptions();

/** Names of the options that a command has. */
export const optionNames = (argv: Argv): string[] => Object.keys(declared(argv).key);

/** Makes a command refuse an option that is given twice, without a value or with none of its kind; `[]` is not refused. */
export function strictValues(argv: Argv, positionals: readonly string[]): Argv {
  const { key, boolean } = declared(argv);
  argv.requiresArg(Object.keys(key).filter((name) => !boolean.includes(name) && !positionals.includes(name)));
  let done = false;
  return argv.middleware((args) => {
    // The command around this one has other options, and comes here as well.
    if (done || args['help'] === true) return;
    done = true;
    const problem = firstProblem(args, declared(argv), positionals, process.argv.slice(2));
    if (problem !== undefined) throw new UsageError(problem);
  }, true);
}

function firstProblem(
  args: Readonly<Record<string, unknown>>,
  { key, array, boolean, number }: Declared,
  positionals: readonly string[],
  words: readonly string[],
): string | undefined {
  const typed = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  for (const name of Object.keys(key)) {
    const option = `--${name}`;
    const given = typed.filter((word) => word.startsWith(`${option}=`)).map((word) => word.slice(option.length + 1));
    if (boolean.includes(name)) {
      if (given.some((value) => value !== 'true' && value !== 'false')) return `${option}: takes no value`;
      continue;
    }
    const value = args[name];
    if (value === false) return `--no-${name}: no such option`;
    const values = [value].flat();
    if (positionals.includes(name)) {
      if (values.some(isBlank)) return `${name.toUpperCase()}: must not be empty`;
      continue;
    }
    const following = typed.filter((_, index) => typed[index - 1] === option);
    if ([...values, ...given, ...following].some(isBlank)) return `${option}: needs a value`;
    // Counted in what was typed: the parser adds up a number that is given twice as 1.
    const times = given.length + typed.filter((word) => word === option).length;
    if (times > 1 && !array.includes(name)) return `${option}: given twice; accepted: once`;
    if (number.includes(name) && value !== undefined && !values.every(Number.isFinite))
      return `${option}: must be a number`;
  }
  return undefined;
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';
