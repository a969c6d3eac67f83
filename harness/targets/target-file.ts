/** Reads a target file: merges extended files, fills in variables, and reports mistakes by position. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Document, isMap } from 'yaml';
import { isSecretName, type Redactor } from '../common/redact.ts';
import { UsageError } from '../common/usage.ts';
import { readYaml, type Yaml } from '../common/yaml.ts';
import { filedFields, type TargetFile, targetFile } from './fields.ts';

type Json = Record<string, unknown>;

/** Loads a target file. Throws UsageError with the position of a mistake and the accepted fields. */
export function loadTargetFile(
  path: string,
  env: Record<string, string | undefined>,
  redactor: Redactor,
): { file: TargetFile; folder: string } {
  const full = resolve(path);
  const files: Parsed[] = [];
  const merged = read(full, { env, redactor, files }, []);
  const [problem] = targetFile.problems(merged);
  if (problem !== undefined) {
    const known = problem.message.includes('not known') ? knownBeside(problem.path, targetFile.schema) : [];
    const accepted = known.length === 0 ? '' : `; accepted are ${known.join(', ')}`;
    throw new UsageError(
      `--target ${positionOf(problem.path, files)}: ${problem.path || '/'} ${problem.message}${accepted}`,
    );
  }
  for (const { path, field } of filedFields) {
    const value = valueAt(merged, path);
    if (field.variable !== undefined && typeof value === 'string') redactor.add(value);
  }
  return { file: merged as TargetFile, folder: dirname(full) };
}

interface Reading {
  env: Record<string, string | undefined>;
  redactor: Redactor;
  files: Parsed[];
}

function read(file: string, reading: Reading, chain: string[]): Json {
  if (chain.includes(file)) throw new UsageError(`--target: ${[...chain, file].join(' extends ')}: a circle`);
  if (!existsSync(file)) {
    throw new UsageError(`--target ${file}: no such file${chain.length > 0 ? ` (extended by ${chain.at(-1)})` : ''}`);
  }
  const { value, document, lines } = readYaml('--target', file);
  if (!isMap(document.contents))
    throw new UsageError(`--target ${file}: must be a map (name, device, platform, control)`);
  const filled = fill(value as Json, reading.env, reading.redactor, file) as Json;
  const own = absolute(filled, dirname(file));
  const { extends: bases, ...rest } = own;
  const list = bases === undefined ? [] : [bases].flat();
  const below = list.map((base) => read(resolve(dirname(file), String(base)), reading, [...chain, file]));
  reading.files.push({ file, document, lines });
  return [...below, rest].reduce(merge, {});
}

/** Replaces `${NAME}` and `${NAME:-default}` by environment variables; redacts variables with a secret's name. */
function fill(value: unknown, env: Record<string, string | undefined>, redactor: Redactor, file: string): unknown {
  if (Array.isArray(value)) return value.map((item) => fill(item, env, redactor, file));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, env, redactor, file)]));
  }
  if (typeof value !== 'string') return value;
  return value.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
    const found = env[name] ?? fallback;
    if (found === undefined) throw new UsageError(`--target ${file}: the environment variable ${name} is not set`);
    if (isSecretName(name)) redactor.add(found);
    return found;
  });
}

function absolute(value: Json, folder: string): Json {
  const copy = structuredClone(value);
  for (const { path, field } of filedFields) {
    const holder = valueAt(copy, path.slice(0, -1));
    const name = path.at(-1) ?? '';
    const text = isJson(holder) ? holder[name] : undefined;
    if (!isJson(holder) || typeof text !== 'string') continue;
    if (typeof field.isPath === 'function' ? field.isPath(text) : field.isPath) holder[name] = resolve(folder, text);
  }
  return copy;
}

function merge(under: Json, over: Json): Json {
  const result = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isJson(below) && isJson(value) ? merge(below, value) : value;
  }
  return result;
}

const isJson = (value: unknown): value is Json => value !== null && typeof value === 'object' && !Array.isArray(value);

const valueAt = (value: Json, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (isJson(inner) ? inner[key] : undefined), value);

interface Parsed extends Pick<Yaml, 'document' | 'lines'> {
  file: string;
}

function positionOf(pointer: string, files: readonly Parsed[]): string {
  for (let path = stepsOf(pointer); path.length > 0; path = path.slice(0, -1)) {
    for (const { file, document, lines } of files.toReversed()) {
      const at = keyAt(document, path);
      if (at === undefined) continue;
      const { line, col } = lines.linePos(at);
      return `${file}:${line}:${col}`;
    }
  }
  return files.at(-1)?.file ?? '';
}

interface Members {
  properties?: { readonly [name: string]: object };
}

function knownBeside(pointer: string, schema: Members): string[] {
  const steps = stepsOf(pointer).slice(0, -1);
  const holder = steps.reduce<Members | undefined>((at, step) => at?.properties?.[step], schema);
  return Object.keys(holder?.properties ?? {});
}

const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

function keyAt(document: Document.Parsed, path: readonly string[]): number | undefined {
  const holder = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const items = (holder as { items?: unknown } | null | undefined)?.items;
  if (!Array.isArray(items)) return undefined;
  const last = path.at(-1);
  for (const [index, item] of items.entries()) {
    const { key, range } = item as { key?: { value?: unknown; range?: number[] }; range?: number[] };
    if (key !== undefined ? String(key.value) === last : String(index) === last) return (key?.range ?? range)?.[0];
  }
  return undefined;
}
