/** Options as data, which serve parsing, help, completion, reports and replays. */
import { resolve } from 'node:path';
import process from 'node:process';
import { defined } from '../common/defined.ts';
import { durationMs } from '../common/units.ts';
import { quote, refuseCredentials, UsageError, usage } from '../common/usage.ts';
import { readInputText } from '../common/user-files.ts';
import type { Replay } from '../runner/run-check.ts';
import type { Outcome } from '../runner/types.ts';

export interface OptionSpec {
  type: 'string' | 'number' | 'boolean';
  describe: string;
  group?: string;
  choices?: readonly string[];
  range?: Range;
  default?: string | number | boolean;
  defaultText?: string;
  required?: true;
  array?: true;
  positional?: true;
  conflicts?: string;
  /** File path within the value, e.g. after `=`. */
  path?: (value: string) => string | undefined;
  /** Environment variable with the value of a secret option; reports never show the value. */
  secret?: string;
}

/** Inclusive bounds, except `above`. */
export type Range = { whole?: true; above?: number; from?: number; to?: number };

export type OptionTable = Readonly<Record<string, OptionSpec>>;
export type OptionValue = string | number | boolean | readonly (string | number)[];
export type GivenOptions = Readonly<Record<string, OptionValue>>;

export const wholePath = (value: string): string => value;
export const REPORTED = {
  defaultText: 'pretty',
  path: (value: string): string | undefined => /=(.+)$/s.exec(value)?.[1],
} as const;
export const pathOfSocket = (value: string): string | undefined => (/^\d+$/.test(value) ? undefined : value);
export const pathOfYaml = (value: string): string | undefined => (/[./]/.test(value) ? value : undefined);

type Value<O extends OptionSpec> = O extends { choices: readonly (infer Choice)[] }
  ? Choice
  : O extends { type: 'boolean' }
    ? boolean
    : O extends { type: 'number' }
      ? number
      : string;
type Held<O extends OptionSpec> = O extends { array: true } ? readonly Value<O>[] : Value<O>;
type AlwaysThere<T extends OptionTable> = {
  [K in keyof T]: T[K] extends { default: unknown } | { required: true } | { type: 'boolean' } ? K : never;
}[keyof T];

export type OptionsOf<T extends OptionTable> = { readonly [K in AlwaysThere<T>]: Held<T[K]> } & {
  readonly [K in Exclude<keyof T, AlwaysThere<T>>]?: Held<T[K]>;
};

export interface ReplayPlan {
  file: string;
  /** Absolute path of `file`. */
  place: string;
  outcomes: Record<string, Outcome>;
  keep: boolean;
  checks: readonly (Replay & { check: string })[];
  seed: number;
}

export interface CommandContext {
  rest: readonly string[];
  /** Folder of the user; a command with a config file runs in the folder of that file. */
  from: string;
  /** Returns undefined after printing help. Reads the config file of `folder`, or none. Throws UsageError. */
  parse(words: readonly string[], folder?: string): Promise<ParsedCommand | undefined>;
  again?: ReplayPlan;
}

export interface Command<T extends OptionTable = OptionTable> {
  options: T;
  examples?: readonly (readonly [line: string, meaning: string])[];
  epilogue?: string;
  takesRest?: true;
  /** Resolves with the exit code. Throws UsageError. */
  run(options: OptionsOf<T>, context: CommandContext): number | Promise<number>;
}

export type AnyCommand = Omit<Command, 'run'> & {
  run(options: never, context: CommandContext): number | Promise<number>;
};

export interface ParsedCommand {
  path: readonly string[];
  command: AnyCommand;
  given: GivenOptions;
  rest: readonly string[];
  config?: { file: string; folder: string; names: readonly string[] };
}

type More = Omit<OptionSpec, 'type' | 'describe' | 'group' | 'choices' | 'range'>;
type Numeric = More & Omit<Range, 'whole'>;
type None = Record<never, never>;
type Made<Fixed, M> = Fixed & { describe: string } & NoInfer<M>;

export function optionsIn(group?: string) {
  const make = (spec: OptionSpec, more: More = {}): never => ({ ...spec, ...defined({ group }), ...more }) as never;
  const numeric = (describe: string, { above, from, to, ...more }: Numeric = {}, whole?: true) =>
    make({ type: 'number', describe, range: defined({ whole, above, from, to }) }, more);
  return {
    text: <const M extends More = None>(describe: string, more?: M): Made<{ type: 'string' }, M> =>
      make({ type: 'string', describe }, more),
    file: <const M extends More = None>(describe: string, more?: M): Made<{ type: 'string' }, M> =>
      make({ type: 'string', describe, path: wholePath }, more),
    list: <const M extends More = None>(describe: string, more?: M): Made<{ type: 'string'; array: true }, M> =>
      make({ type: 'string', array: true, describe }, more),
    oneOf: <const C extends readonly string[], const M extends More = None>(
      choices: C,
      describe: string,
      more?: M,
    ): Made<{ type: 'string'; choices: C }, M> => make({ type: 'string', choices, describe }, more),
    flag: (describe: string): Made<{ type: 'boolean' }, None> => make({ type: 'boolean', describe }),
    number: <const M extends Numeric = None>(describe: string, more?: M): Made<{ type: 'number' }, M> =>
      numeric(describe, more),
    whole: <const M extends Numeric = None>(describe: string, more?: M): Made<{ type: 'number' }, M> =>
      numeric(describe, more, true),
    port: <const M extends More = None>(describe: string, more?: M): Made<{ type: 'number' }, M> =>
      numeric(describe, { from: 0, to: 65_535, ...more }, true),
  };
}

export const shownDefault = (spec: OptionSpec): string | undefined =>
  spec.defaultText ?? (spec.default === undefined ? undefined : String(spec.default));

export const OPTION = optionsIn();

export const command = <const T extends OptionTable>(definition: Command<T>): Command<T> => definition;

export function complete<T extends OptionTable>(table: T, given: GivenOptions): OptionsOf<T> {
  const filled = Object.entries(table).flatMap(([name, { type, default: preset }]) => {
    const value = given[name] ?? preset ?? (type === 'boolean' ? false : undefined);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(filled) as OptionsOf<T>;
}

/** Options that a report stores for `replay`: no default values and no secrets. */
export function storable(table: OptionTable, options: Readonly<Record<string, unknown>>): GivenOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => {
      const spec = table[name];
      return spec !== undefined && spec.secret === undefined && value !== (spec.default ?? false);
    }),
  ) as GivenOptions;
}

/** Command line that users can paste into a shell, with a variable in place of each secret. */
export function commandLine(path: readonly string[], table: OptionTable, options: Readonly<Record<string, unknown>>) {
  const word = (value: string, variable?: string) => (variable === undefined ? quote(value) : `"$${variable}"`);
  return ['muster', ...commandWords(path, table, options, word)].join(' ');
}

export function commandWords(
  path: readonly string[],
  table: OptionTable,
  options: Readonly<Record<string, unknown>>,
  word: (value: string, variable?: string) => string = (value) => value,
): string[] {
  const words = Object.entries(options).flatMap(([name, value]) => {
    const spec = table[name];
    if (spec === undefined || value === (spec.default ?? false)) return [];
    if (value === true) return [`--${name}`];
    return [`--${name}`, ...[value].flat().map((one) => word(String(one), spec.secret))];
  });
  return [...path, ...words];
}

export const CONFIG_FILE = 'muster.yaml';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const WIDEST = 100;

export function columns(env: Readonly<Record<string, string | undefined>> = process.env): number {
  const wanted = /^[1-9]\d*$/.test(env['COLUMNS'] ?? '') ? Number(env['COLUMNS']) : (process.stdout.columns ?? WIDEST);
  return Math.max(40, Math.min(WIDEST, wanted));
}

const CONSOLE = optionsIn('Console');

export const consoleOptions = {
  ui: CONSOLE.flag('Serve a page to watch and drive it, on loopback; its address is printed as ui'),
  'ui-port': CONSOLE.port('Port of the page; implies --ui', { defaultText: 'any free one' }),
} as const satisfies OptionTable;

export const uiPortOf = (args: { ui: boolean; 'ui-port'?: number }): number | undefined =>
  args['ui-port'] ?? (args.ui ? 0 : undefined);

export const WEB = ['http:', 'https:'] as const;
export const MQTT = ['mqtt:', 'mqtts:'] as const;

export function urlFrom(option: string, text: string, schemes: readonly string[]): URL {
  const url = URL.parse(text);
  if (url !== null) refuseCredentials(`--${option}`, url);
  if (url !== null && schemes.includes(url.protocol)) return url;
  throw new UsageError(
    `--${option}: '${text}' is no address; accepted: ${schemes.map((scheme) => `${scheme}//host[:port]`).join(', ')}`,
  );
}

export const textFrom = (option: string, path: string): string => usage(`--${option}`, () => readInputText(path));

export function timeFrom(option: string, text: string): number {
  const ms = usage(`--${option} ${text}`, () => durationMs(text));
  // Limits a time option to 24 hours, far below the 24 days that a Node timer allows.
  if (ms > 0 && ms <= 86_400_000) return ms;
  throw new UsageError(`--${option} ${text}: must be above 0, and 24h at most`);
}

/** Makes paths absolute, because a command with a config file runs in the folder of that file. */
export const absolute = (given: GivenOptions, table: OptionTable, folder = '.'): GivenOptions =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const inFolder = (one: string | number | boolean): string | number | boolean => {
        const path = table[name]?.path?.(String(one));
        return path === undefined || path === '-' ? one : String(one).slice(0, -path.length) + resolve(folder, path);
      };
      return [name, Array.isArray(value) ? value.map(inFolder) : inFolder(value as string)] as [string, OptionValue];
    }),
  );

/** Options that a user typed in `from`, for a command that may run elsewhere. */
export const typedFrom = (from: string, { command: { options }, given }: ParsedCommand): GivenOptions =>
  process.cwd() === from ? given : absolute(given, options, from);

const STARTED = ['image', 'command', 'target'];
const WHOLE_TARGET = [...STARTED, 'url', 'socket', 'discovery'];
const INSTEAD: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(STARTED.map((name) => [name, STARTED])),
  ...Object.fromEntries(['url', 'socket', 'discovery', 'target'].map((name) => [name, WHOLE_TARGET])),
};

/** True if a typed option takes the place of option `name` of a file: another target, or an option in conflict. */
export const isReplaced = (name: string, typed: object, table: OptionTable): boolean =>
  Object.keys(typed).some(
    (other) =>
      INSTEAD[other]?.includes(name) === true || table[name]?.conflicts === other || table[other]?.conflicts === name,
  );

export function pairFrom(name: string, cert: string | undefined, key: string | undefined) {
  if (cert === undefined && key === undefined) return undefined;
  const options = [`${name}-cert`, `${name}-key`] as const;
  if (cert === undefined || key === undefined)
    throw new UsageError(`--${options.join(' and --')}: give both, or neither`);
  return { cert: textFrom(options[0], cert), key: textFrom(options[1], key) };
}
