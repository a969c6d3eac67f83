/**
 * Renders the man page in roff from the tables of the help. `node harness/cli/man-page.ts FILE` writes it when the
 * package is built.
 */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { EXIT } from '../common/usage.ts';
import { ABOUT, type CommandEntry, NAMED_COMMANDS } from './commands.ts';
import { type AnyCommand, type OptionSpec, type OptionTable, shownDefault } from './options.ts';
import { VERSION } from './version.ts';

export type CommandHelp = Pick<CommandEntry, 'describe' | 'positionals'> &
  Pick<AnyCommand, 'options' | 'examples' | 'epilogue'> & { name: string };

export const helpOfCommands = (): Promise<CommandHelp[]> =>
  Promise.all(NAMED_COMMANDS.map(async ([name, entry]) => ({ ...entry, ...(await entry.load()), name })));

export function manPage(commands: readonly CommandHelp[]): string {
  const lines = [
    `.TH MUSTER 1 "" "muster ${VERSION}"`,
    // No hyphenation and no justification, so that copied text is exact.
    '.nh',
    '.ad l',
    '.SH NAME',
    `muster \\- ${roff(ABOUT.charAt(0).toLowerCase() + ABOUT.slice(1).replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    ...commands.flatMap((command) => [synopsis(command), '.br']).slice(0, -1),
    '.SH OPTIONS',
    ...item(bold('-h, --help'), 'Show help, of a command when one is named'),
    ...item(bold('--version'), 'Show version number'),
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...exitLines(commands),
    '.SH ENVIRONMENT',
    ...secretLines(commands),
  ];
  return `${lines.join('\n')}\n`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
};

/** Escapes text for roff, so that it is shown and copied unchanged. */
export function roff(text: string): string {
  const escaped = text.replaceAll(
    /[\\\-'`^~]|[^ -~\n]/gu,
    (sign) => ESCAPES[sign] ?? `\\[u${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  );
  return escaped.replaceAll(/^\./gm, '\\&.');
}

const bold = (text: string): string => `\\fB${roff(text)}\\fR`;
const italic = (text: string): string => `\\fI${roff(text)}\\fR`;
const item = (tag: string, text: string): string[] => ['.TP', tag, roff(text)];

const synopsis = ({ name, positionals }: CommandHelp): string =>
  [bold(`muster ${name}`), ...positionals.map(italic), '[options]'].join(' ');

function commandLines(command: CommandHelp): string[] {
  const { describe, examples = [], epilogue } = command;
  const groups = Map.groupBy(
    Object.entries(command.options as OptionTable),
    ([, { positional, group = positional === true ? 'Arguments' : 'Options' }]) => group,
  );
  return [
    `.SS ${synopsis(command)}`,
    roff(describe),
    ...[...groups].flatMap(([group, specs]) => [
      '.PP',
      italic(`${group}:`),
      ...specs.flatMap(([name, spec]) => optionLines(name, spec)),
    ]),
    '.PP',
    italic('Examples:'),
    ...examples.flatMap(([line, meaning]) => item(bold(line), meaning)),
    ...paragraphs(epilogue)
      .filter((text) => !text.startsWith(CODES))
      .flatMap((text) => ['.PP', roff(text)]),
  ];
}

function optionLines(name: string, spec: OptionSpec): string[] {
  const value = spec.choices === undefined ? italic(spec.type) : spec.choices.map(bold).join('|');
  const more = spec.array === true ? ' ...' : '';
  const tag =
    spec.positional === true
      ? `${italic(name)}${more}`
      : `${bold(`--${name}`)}${spec.type === 'boolean' ? '' : ` ${value}${more}`}`;
  return item(tag, [spec.describe, ...notesOf(spec)].join('. '));
}

function notesOf(spec: OptionSpec): string[] {
  const shown = shownDefault(spec);
  return [
    ...(spec.positional === true && spec.choices !== undefined ? [`One of ${spec.choices.join(', ')}`] : []),
    ...(spec.required === true ? ['Required'] : []),
    ...(shown === undefined ? [] : [`Default: ${shown}`]),
    ...(spec.conflicts === undefined ? [] : [`Not with --${spec.conflicts}`]),
  ];
}

const CODES = 'Exit codes: ';
const paragraphs = (text = ''): string[] => text.split('\n\n').filter((paragraph) => paragraph !== '');

function exitLines(commands: readonly CommandHelp[]): string[] {
  const codesOf = ({ epilogue }: CommandHelp): string | undefined =>
    paragraphs(epilogue).find((text) => text.startsWith(CODES));
  const { conformant, harness, usage } = EXIT;
  return [...Map.groupBy(commands, codesOf)].flatMap(([codes, group]) =>
    item(
      group.map(({ name }) => bold(name)).join(', '),
      codes?.slice(CODES.length) ?? `${conformant} done · ${harness} Muster itself failed · ${usage} usage error.`,
    ),
  );
}

function secretLines(commands: readonly CommandHelp[]): string[] {
  const all = commands.flatMap(({ name, options }) =>
    Object.entries(options as OptionTable).flatMap(([option, { secret }]) =>
      secret === undefined ? [] : [{ secret, option, name }],
    ),
  );
  return [...Map.groupBy(all, ({ secret }) => secret)].flatMap(([secret, uses]) => {
    const by = Map.groupBy(uses, ({ option }) => option);
    const texts = [...by].map(([option, of]) => `--${option} of ${of.map(({ name }) => name).join(', ')}`);
    return item(bold(secret), `In place of ${texts.join('; ')}`);
  });
}

if (import.meta.main) writeFileSync(process.argv[2] ?? 'muster.1', manPage(await helpOfCommands()));
