/** `muster.yaml` holds default options of commands; typed options have precedence. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { defined } from '../common/defined.ts';
import { nearest, UsageError } from '../common/usage.ts';
import { COMMANDS, type CommandEntry, type CommandGroup } from './commands.ts';
import { CONFIG_FILE, type OptionSpec, type OptionTable } from './options.ts';

export type Configured = NonNullable<Awaited<ReturnType<typeof configured>>>;

/**
 * Reads options from the file `named`, else from the nearest `muster.yaml` in the repository. Paths in the file are
 * relative to the returned `folder`. Throws UsageError.
 */
export async function configured(path: readonly string[], named: string | undefined, from: string) {
  const file = named === undefined ? findConfig(from) : resolve(from, named);
  if (file === undefined) return undefined;
  const shown = relative(from, file);
  const [{ readYaml }, { visit }] = await Promise.all([import('../common/yaml.ts'), import('yaml')]);
  const { document } = readYaml(named === undefined ? 'options in' : '--config', file, shown);
  // Keeps numbers as they are written, because YAML reads the version 1.10 as the number 1.1.
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'number') scalar.value = scalar.source;
    },
  });
  const all = mapOf(document.toJS({ maxAliasCount: -1 }), shown, 'commands');
  const options = path.reduce<Readonly<Record<string, unknown>> | undefined>((inner, name, depth) => {
    const accepted = namesBelow(path.slice(0, depth));
    const above = [shown, ...path.slice(0, depth)].join(': ');
    const strange = Object.keys(inner ?? {}).find((key) => !accepted.includes(key));
    if (strange !== undefined) {
      const near = nearest(strange, accepted);
      const instead = near === undefined ? `there are ${accepted.join(', ')}` : `did you mean ${near}?`;
      throw new UsageError(`${above}: ${strange} is no command; ${instead}`);
    }
    const value = inner?.[name];
    return value === undefined ? undefined : mapOf(value, [shown, ...path.slice(0, depth + 1)].join(': '), 'options');
  }, all);
  if (options === undefined || Object.keys(options).length === 0) return undefined;
  const where = [shown, ...path].join(': ');
  const values = Object.entries(options).map(
    ([name, value]) => [name, typedValue(value, `${where}: ${name}`)] as const,
  );
  return { file: shown, folder: dirname(file), values: Object.fromEntries(values) };
}

/**
 * Searches `from` and the folders above it up to the root of the repository; searches only `from` outside a repository,
 * or if a folder above is not `isOwn`.
 */
function findConfig(from: string): string | undefined {
  const folders = [from];
  while (!existsSync(join(folders.at(-1) ?? '', '.git'))) {
    const above = dirname(folders.at(-1) ?? '');
    if (above === folders.at(-1) || !isOwn(above)) {
      folders.splice(1);
      break;
    }
    folders.push(above);
  }
  const isTaken = (file: string, at: number): boolean => existsSync(file) && (at === 0 || isOwn(file));
  return folders.map((folder) => join(folder, CONFIG_FILE)).find(isTaken);
}

/**
 * True if no other user can change the path, because Muster runs commands from config files. The user's own group may
 * change it, because many systems give each user a separate group.
 */
function isOwn(path: string): boolean {
  const { uid, gid, mode } = statSync(path);
  const isForGroup = (mode & 0o020) !== 0 && gid !== process.getgid?.();
  return (uid === process.getuid?.() || uid === 0) && (mode & 0o002) === 0 && !isForGroup;
}

export function namesBelow(path: readonly string[]): string[] {
  const group = COMMANDS.find(({ name }) => name === path[0]);
  const entries = path.length === 0 ? COMMANDS : group !== undefined && 'members' in group ? group.members : [];
  return entries.map(({ name }) => name);
}

function mapOf(value: unknown, where: string, what: string): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${where}: must be a map of ${what}`);
}

function typedValue(value: unknown, where: string): string | boolean | readonly string[] {
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new UsageError(`${where}: must be a text, a number, true, false or a list of texts`);
}

export function notInFile(name: string, spec: OptionSpec): string | undefined {
  if (spec.secret !== undefined) return `${name}: a file holds no secrets; set ${spec.secret} in the environment`;
  return spec.positional === true ? `${name}: is typed, after the command` : undefined;
}

export const configSchema = async (): Promise<object> => ({ title: CONFIG_FILE, ...closed(await schemasOf(COMMANDS)) });

async function schemasOf(entries: readonly (CommandEntry | CommandGroup)[]): Promise<Record<string, object>> {
  const schemas: Record<string, object> = {};
  for (const entry of entries) {
    let properties: Record<string, object>;
    if ('members' in entry) properties = await schemasOf(entry.members);
    else {
      const table = (await entry.load()).options as OptionTable;
      const fields = Object.entries(table).filter(([name, spec]) => notInFile(name, spec) === undefined);
      properties = Object.fromEntries(fields.map(([name, spec]) => [name, schemaOf(spec)]));
    }
    schemas[entry.name] = { ...closed(properties), description: entry.describe };
  }
  return schemas;
}

const closed = (properties: Record<string, object>) => ({
  type: ['object', 'null'],
  properties,
  additionalProperties: false,
});

function schemaOf({ type, range = {}, choices, array, describe }: OptionSpec): object {
  const { whole, above, from, to } = range;
  const one = {
    ...(type === 'number' ? { type: whole === true ? 'integer' : 'number' } : { type }),
    ...defined({ enum: choices, exclusiveMinimum: above, minimum: from, maximum: to }),
  };
  // Accepts a number in place of a text, because YAML reads an id such as 42 as a number.
  const value = type === 'string' && choices === undefined ? { type: ['string', 'number'] } : one;
  return { description: describe, ...(array === true ? { anyOf: [value, { type: 'array', items: value }] } : value) };
}
