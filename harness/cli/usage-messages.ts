/** Compares a parsed command line with the option table of its command, and names every mistake at once. */
import { nearest, UsageError } from '../common/usage.ts';
import type { GivenOptions, OptionSpec, OptionTable, OptionValue, Range } from './options.ts';

/** A command line as yargs has split it, by the name of the option. */
export interface Typed {
  path: readonly string[];
  table: OptionTable;
  takesRest: boolean;
  /** A value of an option is a string, a list of strings when it came more than once, or a boolean. */
  values: Readonly<Record<string, unknown>>;
  /** Words that belong to no option. */
  loose: readonly string[];
  rest: readonly string[];
  /** All words up to `--`, as they were typed. */
  words: readonly string[];
}

/** The options that were given. Throws UsageError with all mistakes, one a line. */
export function readOptions(typed: Typed): GivenOptions {
  const given: Record<string, OptionValue> = {};
  const mistakes = [...unknownWords(typed)];
  for (const [name, spec] of Object.entries(typed.table)) {
    const read = readOption(name, spec, typed);
    if (typeof read === 'string') mistakes.push(read);
    else if (read.value !== undefined) given[name] = read.value;
  }
  const excluded = Object.entries(typed.table).filter(
    ([name, { conflicts }]) => name in given && conflicts !== undefined,
  );
  for (const [name, { conflicts = '' }] of excluded)
    if (conflicts in given) mistakes.push(`--${name} and --${conflicts}: give one of them`);
  if (mistakes.length > 0) throw new UsageError(together(mistakes));
  return given;
}

/** Below each other, since the first is printed after `muster: `. */
const together = (mistakes: readonly string[]): string => mistakes.join('\n        ');

function unknownWords({ path, table, takesRest, values, loose, rest }: Typed): string[] {
  const options = Object.keys(table).filter((name) => table[name]?.positional !== true);
  const unknown = Object.entries(values).filter(([name]) => !(name in table));
  return [
    ...unknown.map(([name, value]) => {
      const dashes = name.length === 1 ? '-' : value === false ? '--no-' : '--';
      const near = name.length > 2 ? nearest(name, options) : undefined;
      return `${dashes}${name}: no such option${near === undefined ? '' : `; did you mean --${near}?`}`;
    }),
    ...loose.map((word) => `${word}: ${path.join(' ')} takes no such argument`),
    ...(rest.length > 0 && !takesRest ? [`--: ${path.join(' ')} takes nothing after it`] : []),
  ];
}

type Read = { value?: OptionValue } | string;

function readOption(name: string, spec: OptionSpec, typed: Typed): Read {
  const shown = spec.positional === true ? name.toUpperCase() : `--${name}`;
  const value = typed.values[name];
  if (spec.type === 'boolean') return readFlag(name, value, typed.words);
  const values = (value === undefined ? [] : [value].flat()) as unknown[];
  if (spec.positional === true && values.length === 0)
    return spec.required === true ? `${typed.path.join(' ')}: ${shown} is missing` : {};
  if (value === undefined) return spec.required === true ? `${shown}: missing` : {};
  if (values.includes(false)) return `--no-${name}: no such option`;
  const texts = values.map(String);
  if (texts.length === 0 || texts.some((text) => text.trim() === ''))
    return spec.positional === true ? `${shown}: must not be empty` : `${shown}: needs a value`;
  if (texts.length > 1 && spec.array !== true) return `${shown}: given twice; accepted: once`;
  const stranger = spec.choices && texts.find((text) => spec.choices?.includes(text) === false);
  if (stranger !== undefined) {
    const near = nearest(stranger, spec.choices ?? []);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    return `${shown}: ${stranger} is not accepted; accepted: ${spec.choices?.join(', ')}${meant}`;
  }
  const read = spec.type === 'number' ? texts.map(Number) : texts;
  if (spec.type === 'number' && !read.every((number) => fits(number as number, spec.range)))
    return `${shown}: must be ${rangeText(spec.range)}`;
  return { value: spec.array === true ? read : (read[0] ?? '') };
}

/** yargs reads `--fast=maybe` as false and keeps nothing of the word, so it is looked for among the words. */
function readFlag(name: string, value: unknown, words: readonly string[]): Read {
  const wrong = words.some((word) => word.startsWith(`--${name}=`) && !/=(?:true|false)$/.test(word));
  if (wrong) return `--${name}: takes no value`;
  return value === undefined ? {} : { value: value === true };
}

function fits(value: number, { whole, above, from, to }: Range = {}): boolean {
  return (
    Number.isFinite(value) &&
    (whole !== true || Number.isSafeInteger(value)) &&
    value > (above ?? Number.NEGATIVE_INFINITY) &&
    value >= (from ?? Number.NEGATIVE_INFINITY) &&
    value <= (to ?? Number.POSITIVE_INFINITY)
  );
}

/** E.g. `a whole number from 1 to 65535`. */
function rangeText({ whole, above, from, to }: Range = {}): string {
  const kind = whole === true ? 'a whole number' : 'a number';
  if (above !== undefined) return `${kind} above ${above}${to === undefined ? '' : `, up to ${to}`}`;
  if (from === undefined) return kind;
  return `${kind} from ${from}${to === undefined ? ' on' : ` to ${to}`}`;
}

/** A word where a command should stand; `known` could stand there. */
export function unknownCommand(path: readonly string[], word: string, known: readonly string[]): UsageError {
  const near = nearest(word, known);
  const ending = near === undefined ? `; there are ${known.join(', ')}` : `; did you mean ${near}?`;
  return new UsageError(`${[...path, word].join(' ')}: no such command${ending}`);
}
