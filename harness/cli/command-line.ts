/**
 * From words to a command and its options. yargs splits the words, writes the help and completes in a shell; what is accepted is
 * decided here, from the option tables, so that all mistakes are named at once and in the user's terms.
 */

import yargs, { type Argv, type Options } from 'yargs';
import { defined } from '../common/defined.ts';
import { UsageError } from '../common/usage.ts';
import { COMMANDS, type CommandEntry } from './commands.ts';
import { type AnyCommand, columns, type OptionSpec, type OptionTable, type ParsedCommand } from './options.ts';
import { readOptions, unknownCommand } from './usage-messages.ts';
import { VERSION } from './version.ts';

const COMPLETION = 'completion';

/** A command to run, or a text that was asked for: help, the version, completions. */
export type Invocation = ParsedCommand | { text: string };

/** Throws UsageError with every mistake. */
export async function parseCommandLine(words: readonly string[]): Promise<Invocation> {
  if (words[0] === 'help') return parseCommandLine([...words.slice(1), '--help']);
  const loaded = await loadNamed(words);
  const found: Found[] = [];
  const cli = declareCommands(root(), loaded, (command) => void found.push(command));
  const { parsed, text } = await parse(cli, words);
  const typed = parsed['_'].map(String);
  const [chosen] = found;
  if (chosen === undefined) {
    const strange = parsed['help'] === true && !namesCommand(typed);
    if (text === '' || strange) throw commandMistake(typed);
    return { text };
  }
  const { _, $0, '--': rest = [], ...values } = parsed;
  const end = words.indexOf('--');
  const given = readOptions({
    path: chosen.path,
    table: chosen.command.options,
    takesRest: chosen.command.takesRest === true,
    values,
    loose: typed.slice(chosen.path.length),
    rest: rest.map(String),
    words: end === -1 ? words : words.slice(0, end),
  });
  return { ...chosen, given, rest: rest.map(String) };
}

interface Found {
  path: string[];
  command: AnyCommand;
}

/** yargs with everything but the commands. */
const root = (): Argv =>
  yargs([])
    .scriptName('muster')
    .usage(
      'Simulates robots and checks that a Device API or Platform API conforms to its specification.\n\nUsage: $0 <command> [options]',
    )
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
    .completion(COMPLETION, 'print a completion script for your shell: muster completion >> ~/.bashrc')
    .exitProcess(false)
    .strict(false)
    // Option mistakes are reported below, all at once.
    .fail((_message, error) => {
      if (error !== undefined) throw error;
    });

function declareCommands(
  cli: Argv,
  loaded: ReadonlyMap<CommandEntry, AnyCommand>,
  onFound: (command: Found) => void,
): Argv {
  const declare = (argv: Argv, entry: CommandEntry, around: readonly string[]): Argv => {
    const path = [...around, entry.name];
    const body = loaded.get(entry);
    return argv.command({
      command: [entry.name, ...entry.positionals].join(' '),
      describe: entry.describe,
      builder: (own) => (body === undefined ? own : declareOptions(own, body)),
      handler: () => void (body !== undefined && onFound({ path, command: body })),
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

interface Split {
  _: (string | number)[];
  $0: string;
  '--'?: (string | number)[];
  [option: string]: unknown;
}

async function parse(cli: Argv, words: readonly string[]): Promise<{ parsed: Split; text: string }> {
  let text = '';
  const parsed = await cli.parseAsync([...words], {}, (_error, _parsed, output) => {
    text = output;
  });
  return { parsed: parsed as Split, text };
}

/** Only the commands that may be meant are loaded, so that help and small commands start at once. */
async function loadNamed(words: readonly string[]): Promise<Map<CommandEntry, AnyCommand>> {
  const entries = COMMANDS.flatMap((entry) => {
    if (!words.includes(entry.name)) return [];
    return 'members' in entry ? entry.members.filter(({ name }) => words.includes(name)) : [entry];
  });
  return new Map(await Promise.all(entries.map(async (entry) => [entry, await entry.load()] as const)));
}

function declareOptions(argv: Argv, { options, examples = [], epilogue }: AnyCommand): Argv {
  for (const [name, spec] of Object.entries(options as OptionTable)) {
    if (spec.positional === true) argv.positional(name, yargsOption(spec) as Parameters<Argv['positional']>[1]);
    else argv.option(name, yargsOption(spec));
  }
  for (const [line, meaning] of examples) argv.example(line.replaceAll('muster ', '$0 '), meaning);
  return epilogue === undefined ? argv : argv.epilogue(epilogue);
}

/** Numbers stay text until they are read: yargs takes an empty one for 0. */
function yargsOption(spec: OptionSpec): Options {
  const shown = spec.defaultText ?? (spec.default === undefined ? undefined : String(spec.default));
  return {
    describe: spec.describe,
    ...(spec.type === 'boolean' ? { type: 'boolean' } : { type: 'string', number: spec.type === 'number' }),
    ...(spec.array === true ? { array: true } : {}),
    ...defined({ choices: spec.choices }),
    ...(spec.group === undefined ? {} : { group: `${spec.group}:` }),
    ...(spec.required === true ? { demandOption: true } : {}),
    ...defined({ defaultDescription: shown }),
  };
}

/** Whether help can be given: on all commands, on a group or on one command. */
function namesCommand([first, second]: readonly string[]): boolean {
  const entry = COMMANDS.find(({ name }) => name === first);
  if (entry === undefined || !('members' in entry)) return first === undefined || entry !== undefined;
  return second === undefined || entry.members.some(({ name }) => name === second);
}

function commandMistake([first, second]: readonly string[]): UsageError {
  const names = COMMANDS.map(({ name }) => name);
  const entry = COMMANDS.find(({ name }) => name === first);
  if (first === undefined) return new UsageError('Name a command.');
  if (entry === undefined || !('members' in entry)) return unknownCommand([], first, names);
  if (second === undefined) return new UsageError(entry.missing);
  const members = entry.members.map(({ name }) => name);
  return unknownCommand([first], second, members);
}

/** The first words that name a command, for a hint at its help. */
export function commandPath(words: readonly string[]): string[] {
  const first = COMMANDS.find(({ name }) => name === words[0]);
  if (first === undefined) return [];
  const second = 'members' in first ? first.members.find(({ name }) => name === words[1]) : undefined;
  return [first, second].flatMap((entry) => (entry === undefined ? [] : [entry.name]));
}
