/** Parses a command line: yargs splits words and writes help; Muster validates all options together. */
import yargs, { type Argv, type Options } from 'yargs';
import { defined } from '../common/defined.ts';
import { nearest, UsageError, usage } from '../common/usage.ts';
import { ABOUT, COMMANDS, type CommandEntry } from './commands.ts';
import { type Configured, configured, namesBelow, notInFile } from './config-file.ts';
import {
  type AnyCommand,
  absolute,
  CONFIG_FILE,
  columns,
  type GivenOptions,
  isReplaced,
  type OptionSpec,
  type OptionTable,
  type OptionValue,
  type ParsedCommand,
  type Range,
  shownDefault,
} from './options.ts';
import { VERSION } from './version.ts';

export type Invocation = ParsedCommand | { text: string };

/** Looks for a config file in `folder` and above; reads none without `folder`. Throws UsageError with all mistakes. */
export async function parseCommandLine(words: readonly string[], folder?: string): Promise<Invocation> {
  if (words[0] === 'help') return parseCommandLine([...words.slice(1), '--help']);
  const { parsed, text, chosen } = await parse(words);
  if (words[0] === '--get-yargs-completions') {
    // Offers options only after a dash, because the shell completes file names if it gets no offers.
    const begun = words.at(-1)?.startsWith('-') === true;
    const lines = text.split('\n').filter((line) => begun || !line.startsWith('-'));
    return { text: lines.join('\n') };
  }
  const typed = parsed['_'].map(String);
  if (chosen === undefined) {
    const mistake = text === '' || parsed['help'] === true ? commandMistake(typed, text === '') : undefined;
    if (mistake !== undefined) throw mistake;
    return { text };
  }
  const { _, $0, '--': rest = [], [CONFIG]: named, ...values } = parsed;
  const { path, command } = chosen;
  let config: Configured | undefined;
  if (folder !== undefined && named !== false) {
    if (named !== undefined && (typeof named !== 'string' || named.trim() === ''))
      throw new UsageError(`--${CONFIG}: ${Array.isArray(named) ? 'given twice; accepted: once' : 'needs a value'}`);
    config = await configured(path, named, folder);
  }
  const filed = config === undefined ? {} : readFile(config, chosen, values);
  const end = words.indexOf('--');
  const given = readOptions({
    path,
    table: withoutNeed(command.options, Object.keys(filed)),
    takesRest: command.takesRest === true,
    values,
    loose: typed.slice(path.length),
    rest: rest.map(String),
    words: end === -1 ? words : words.slice(0, end),
  });
  // Makes report paths of the file absolute, too, because users replay a report from their own folder.
  const elsewhere = config?.folder === folder ? undefined : config?.folder;
  const fromFile = Object.keys(filed).filter((name) => !Object.hasOwn(given, name));
  return {
    ...chosen,
    given: {
      ...filed,
      ...(elsewhere !== undefined && absolute(defined({ report: filed['report'] }), command.options, elsewhere)),
      ...(elsewhere === undefined ? given : absolute(given, command.options, folder)),
    },
    rest: rest.map(String),
    ...(config !== undefined && fromFile.length > 0 && { config: { ...config, names: fromFile } }),
  };
}

const CONFIG = 'config';

function readFile({ file, values }: Configured, { path, command }: Found, typed: Readonly<Record<string, unknown>>) {
  const table: OptionTable = command.options;
  const wrong = Object.keys(values).flatMap((name) => {
    const spec = Object.hasOwn(table, name) ? table[name] : undefined;
    if (spec === undefined) return [];
    const isFlag = typeof values[name] === 'boolean';
    const kind = isFlag ? 'a text or a number' : 'true or false';
    return notInFile(name, spec) ?? (isFlag === (spec.type === 'boolean') ? [] : `${name}: must be ${kind}`);
  });
  const where = [file, ...path].join(': ');
  if (wrong.length > 0) throw new UsageError(together(wrong.map((mistake) => `${where}: ${mistake}`)));
  const others = Object.entries(table).filter(([, { positional }]) => positional !== true);
  const own = withoutNeed(Object.fromEntries(others), Object.keys(table));
  const whole: Typed = { path, table: own, takesRest: true, values, loose: [], rest: [], words: [] };
  const given = usage(where, () => readOptions(whole));
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isReplaced(name, typed, table)));
}

const withoutNeed = (table: OptionTable, names: readonly string[]): OptionTable =>
  Object.fromEntries(
    Object.entries(table).map(([name, { required, ...spec }]) => [
      name,
      required === undefined || names.includes(name) ? spec : { ...spec, required },
    ]),
  );

type Found = Pick<ParsedCommand, 'path' | 'command'>;

function declareCommands(loaded: ReadonlyMap<CommandEntry, AnyCommand>): Argv {
  const cli = yargs([])
    .scriptName('muster')
    .usage(`${ABOUT}\n\nUsage: $0 <command> [options]`)
    .parserConfiguration({
      'camel-case-expansion': false,
      'dot-notation': false,
      'greedy-arrays': true,
      'parse-positional-numbers': false,
      'populate--': true,
    })
    .version(VERSION)
    .help()
    .alias('h', 'help')
    .wrap(columns())
    .option(CONFIG, { type: 'string', describe: `File with options of commands [default: ${CONFIG_FILE}]` })
    .exitProcess(false)
    .strict(false)
    // Ignores the messages of yargs, because `readOptions` reports all mistakes together.
    .fail((_message, error) => {
      if (error !== undefined) throw error;
    });
  const declare = (argv: Argv, entry: CommandEntry, around: readonly string[]): Argv => {
    const path = [...around, entry.name];
    const body = loaded.get(entry);
    return argv.command({
      command: [entry.name, ...entry.positionals].join(' '),
      describe: entry.describe,
      builder: (own) => {
        if (body === undefined) return own;
        for (const [name, spec] of Object.entries(body.options as OptionTable)) {
          if (spec.positional === true) own.positional(name, yargsOption(spec) as Parameters<Argv['positional']>[1]);
          else own.option(name, yargsOption(spec));
        }
        for (const [line, meaning] of body.examples ?? []) own.example(line.replaceAll('muster ', '$0 '), meaning);
        return body.epilogue === undefined ? own : own.epilogue(body.epilogue);
      },
      handler: (parsed) => {
        if (body !== undefined) throw new Chosen('', { cause: { chosen: { path, command: body }, parsed } });
      },
    });
  };
  for (const entry of COMMANDS) {
    if ('members' in entry) {
      const { name, describe, members } = entry;
      const builder = (argv: Argv): Argv => members.reduce((own, member) => declare(own, member, [name]), argv);
      cli.command({ command: name, describe, builder, handler: () => {} });
    } else declare(cli, entry, []);
  }
  return cli;
}

type Split = { _: (string | number)[]; $0: string; '--'?: (string | number)[]; [option: string]: unknown };

/** Error that leaves yargs early, because yargs spends 100 ms on its help after a handler returns. */
class Chosen extends Error {}

async function parse(words: readonly string[]): Promise<{ parsed: Split; text: string; chosen?: Found }> {
  const entries = COMMANDS.flatMap((entry) => {
    if (!words.includes(entry.name)) return [];
    return 'members' in entry ? entry.members.filter(({ name }) => words.includes(name)) : [entry];
  });
  const loaded = new Map(await Promise.all(entries.map(async (entry) => [entry, await entry.load()] as const)));
  // Refuses `--toString`, which yargs accepts because every object inherits that name.
  const inherited = words.find((word) => /^--./.test(word) && (word.slice(2).split('=')[0] ?? '') in {});
  if (inherited !== undefined) throw new UsageError(`${inherited}: no such option`);
  let text = '';
  try {
    const parsed = await declareCommands(loaded).parseAsync([...words], {}, (_error, _parsed, output) => {
      text = output;
    });
    return { parsed: parsed as Split, text };
  } catch (error) {
    if (error instanceof Chosen) return { text, ...(error.cause as { parsed: Split; chosen: Found }) };
    throw error;
  }
}

/** Declares numbers to yargs as text, because yargs reads an empty number as 0; `number` is for the help. */
function yargsOption(spec: OptionSpec): Options {
  return {
    describe: spec.describe,
    ...(spec.type === 'boolean' ? { type: 'boolean' } : { type: 'string', number: spec.type === 'number' }),
    ...defined({
      array: spec.array,
      choices: spec.choices,
      group: spec.group && `${spec.group}:`,
      demandOption: spec.required,
      defaultDescription: shownDefault(spec),
    }),
  };
}

function commandMistake(typed: readonly string[], isNeeded: boolean): UsageError | undefined {
  const entry = COMMANDS.find(({ name }) => name === typed[0]);
  const isGroup = entry !== undefined && 'members' in entry;
  for (const [depth, word] of typed.slice(0, isGroup ? 2 : 1).entries()) {
    const known = namesBelow(typed.slice(0, depth));
    if (known.includes(word)) continue;
    const near = nearest(word, known);
    const ending = near === undefined ? `; there are ${known.join(', ')}` : `; did you mean ${near}?`;
    return new UsageError(`${typed.slice(0, depth + 1).join(' ')}: no such command${ending}`);
  }
  if (!isNeeded) return undefined;
  const members = namesBelow(typed)
    .join(', ')
    .replace(/, ([^,]+)$/, ' or $1');
  return new UsageError(isGroup ? `Name what to ${entry.name}: ${members}.` : 'Name a command.');
}

export function commandPath(words: readonly string[]): string[] {
  const first = COMMANDS.find(({ name }) => name === words[0]);
  const members = first !== undefined && 'members' in first ? first.members : [];
  const second = members.find(({ name }) => name === words[1]);
  return [first, second].flatMap((entry) => (entry === undefined ? [] : [entry.name]));
}

interface Typed {
  path: readonly string[];
  table: OptionTable;
  takesRest: boolean;
  values: Readonly<Record<string, unknown>>;
  loose: readonly string[];
  rest: readonly string[];
  words: readonly string[];
}

function readOptions(typed: Typed): GivenOptions {
  const { path, table, takesRest, values, loose, rest } = typed;
  const options = Object.keys(table).filter((name) => table[name]?.positional !== true);
  const unknown = Object.entries(values).filter(([name]) => !Object.hasOwn(table, name));
  const mistakes = unknown.map(([name, value]) => {
    const dashes = name.length === 1 ? '-' : value === false ? '--no-' : '--';
    const near = name.length > 2 ? nearest(name, options) : undefined;
    return `${dashes}${name}: no such option${near === undefined ? '' : `; did you mean --${near}?`}`;
  });
  mistakes.push(...loose.map((word) => `${word}: ${path.join(' ')} takes no such argument`));
  if (rest.length > 0 && !takesRest) mistakes.push(`--: ${path.join(' ')} takes nothing after it`);
  const given: Record<string, OptionValue> = {};
  for (const [name, spec] of Object.entries(table)) {
    const read = readOption(name, spec, typed);
    if (typeof read === 'string') mistakes.push(read);
    else if (read.value !== undefined) given[name] = read.value;
  }
  for (const [name, { conflicts = '' }] of Object.entries(table))
    if (Object.hasOwn(given, name) && Object.hasOwn(given, conflicts))
      mistakes.push(`--${name} and --${conflicts}: give one of them`);
  if (mistakes.length > 0) throw new UsageError(together(mistakes));
  return given;
}

const together = (mistakes: readonly string[]): string => mistakes.join('\n        ');

function readOption(name: string, spec: OptionSpec, typed: Typed): { value?: OptionValue } | string {
  const shown = spec.positional === true ? name.toUpperCase() : `--${name}`;
  const value = typed.values[name];
  if (spec.type === 'boolean') {
    // Refuses `--fast=maybe`, which yargs reads as false without a message.
    const wrong = typed.words.some((word) => word.startsWith(`--${name}=`) && !/=(?:true|false)$/.test(word));
    if (wrong) return `--${name}: takes no value`;
    return value === undefined ? {} : { value: value === true };
  }
  const values = (value === undefined ? [] : [value].flat()) as unknown[];
  if (spec.positional === true && values.length === 0) {
    const accepted = spec.choices === undefined ? '' : `; accepted: ${spec.choices.join(', ')}`;
    return spec.required === true ? `${typed.path.join(' ')}: ${shown} is missing${accepted}` : {};
  }
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
  if (spec.type !== 'number') return { value: spec.array === true ? texts : (texts[0] ?? '') };
  const numbers = texts.map(Number);
  const range = rangeMissed(numbers, spec.range);
  if (range !== undefined) return `${shown}: must be ${range}`;
  return { value: spec.array === true ? numbers : (numbers[0] ?? '') };
}

function rangeMissed(numbers: readonly number[], { whole, above, from, to }: Range = {}): string | undefined {
  const isInside = (value: number): boolean =>
    Number.isFinite(value) &&
    (whole !== true || Number.isSafeInteger(value)) &&
    value > (above ?? Number.NEGATIVE_INFINITY) &&
    value >= (from ?? Number.NEGATIVE_INFINITY) &&
    value <= (to ?? Number.POSITIVE_INFINITY);
  if (numbers.every(isInside)) return undefined;
  const kind = whole === true ? 'a whole number' : 'a number';
  if (above !== undefined) return `${kind} above ${above}${to === undefined ? '' : `, up to ${to}`}`;
  if (from === undefined) return kind;
  return `${kind} from ${from}${to === undefined ? ' on' : ` to ${to}`}`;
}
