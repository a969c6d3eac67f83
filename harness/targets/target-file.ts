/** Reads a target file: `extends` merged, `${NAME}` filled in, paths made absolute, secrets made known. */
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { isMap, LineCounter, parseDocument } from 'yaml';
import type { Redactor } from '../client/redact.ts';
import { readInputText, whyNot } from '../common/read-input.ts';
import { UsageError } from '../common/usage-error.ts';
import { type TargetFile, targetFileOf } from './file-schema.ts';
import { fieldsOf, TRANSPORTS } from './transports/index.ts';
import type { Transport } from './transports/transport.ts';
import { knownBeside, type Parsed, positionOf } from './yaml-position.ts';

type Json = Record<string, unknown>;

/** Fields that hold a path, relative to the file that names it. */
const pathsIn = (transports: readonly Transport[]): string[] => [
  ...fieldsWith(transports, 'isPath'),
  ...['artifact', 'device.ca', 'device.cwd', 'platform.ca', 'platform.cwd'],
  ...['control.event_log', 'control.config_root'],
];
const secretsIn = (transports: readonly Transport[]): string[] => [
  ...fieldsWith(transports, 'variable'),
  ...['platform.api_key', 'platform.limited_key'],
];
const fieldsWith = (transports: readonly Transport[], property: 'isPath' | 'variable'): string[] =>
  Object.entries(fieldsOf(transports)).flatMap(([name, field]) => (field[property] ? [`device.${name}`] : []));

/** A target file with everything that it extends. */
export interface LoadedTarget {
  file: TargetFile;
  /** Folder of the outermost file. */
  folder: string;
}

/** Throws UsageError that names the file, the position and the accepted fields. */
export function loadTargetFile(
  path: string,
  env: Record<string, string | undefined>,
  redactor: Redactor,
  transports: readonly Transport[] = TRANSPORTS,
): LoadedTarget {
  const full = resolve(path);
  const files: Parsed[] = [];
  const targetFile = targetFileOf(transports);
  const merged = read(full, { env, redactor, files, paths: pathsIn(transports) }, []);
  const [problem] = targetFile.problems(merged);
  if (problem !== undefined) {
    const known = problem.message.includes('not known') ? knownBeside(problem.path, targetFile.schema) : [];
    const accepted = known.length === 0 ? '' : `; accepted are ${known.join(', ')}`;
    throw new UsageError(
      `--target ${positionOf(problem.path, files)}: ${problem.path || '/'} ${problem.message}${accepted}`,
    );
  }
  for (const field of secretsIn(transports)) redactor.add(at(merged, field));
  return { file: merged as TargetFile, folder: dirname(full) };
}

interface Reading {
  env: Record<string, string | undefined>;
  redactor: Redactor;
  /** Receives every file that is read; the last one wins over the others. */
  files: Parsed[];
  /** Fields that hold a path. */
  paths: readonly string[];
}

function read(file: string, reading: Reading, chain: string[]): Json {
  if (chain.includes(file)) throw new UsageError(`--target: ${[...chain, file].join(' extends ')}: a circle`);
  if (!existsSync(file)) {
    throw new UsageError(`--target ${file}: no such file${chain.length > 0 ? ` (extended by ${chain.at(-1)})` : ''}`);
  }
  const lines = new LineCounter();
  const document = parseDocument(textOf(file), { lineCounter: lines });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    const [what = ''] = error.message.split(/ at line \d+|\n/);
    throw new UsageError(`--target ${file}:${line}:${col}: ${what}`);
  }
  if (!isMap(document.contents))
    throw new UsageError(`--target ${file}: must be a map (name, device, platform, control)`);
  const filled = fill(document.toJS() as Json, reading.env, reading.redactor, file) as Json;
  const own = absolute(filled, dirname(file), reading.paths);
  const { extends: bases, ...rest } = own;
  const list = bases === undefined ? [] : [bases].flat();
  const below = list.map((base) => read(resolve(dirname(file), String(base)), reading, [...chain, file]));
  reading.files.push({ file, document, lines });
  return [...below, rest].reduce(merge, {});
}

function textOf(file: string): string {
  try {
    return readInputText(file);
  } catch (error) {
    throw new UsageError(`--target ${file}: cannot be read (${whyNot(error)})`);
  }
}

/** `${NAME}` and `${NAME:-default}` in every string. A variable named like a secret is treated as one. */
function fill(value: unknown, env: Record<string, string | undefined>, redactor: Redactor, file: string): unknown {
  if (Array.isArray(value)) return value.map((item) => fill(item, env, redactor, file));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, env, redactor, file)]));
  }
  if (typeof value !== 'string') return value;
  return value.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
    const found = env[name] ?? fallback;
    if (found === undefined) throw new UsageError(`--target ${file}: the environment variable ${name} is not set`);
    if (/KEY|TOKEN|SECRET|PASSWORD/i.test(name)) redactor.add(found);
    return found;
  });
}

function absolute(value: Json, folder: string, paths: readonly string[]): Json {
  const copy = structuredClone(value);
  for (const path of paths) {
    const [first = '', second] = path.split('.');
    const holder = second === undefined ? copy : copy[first];
    const key = second ?? first;
    if (holder === null || typeof holder !== 'object') continue;
    const field = (holder as Json)[key];
    if (typeof field === 'string') (holder as Json)[key] = resolve(folder, field);
  }
  const control = copy['control'];
  if (control !== null && typeof control === 'object' && 'http' in control) {
    const { http } = control;
    if (typeof http === 'string' && !/^(\d+|https?:.*)$/.test(http) && !isAbsolute(http)) {
      (control as Json)['http'] = resolve(folder, http);
    }
  }
  return copy;
}

/** Merges maps and replaces anything else. */
function merge(under: Json, over: Json): Json {
  const result = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isJson(below) && isJson(value) ? merge(below, value) : value;
  }
  return result;
}

const isJson = (value: unknown): value is Json => value !== null && typeof value === 'object' && !Array.isArray(value);

function at(value: Json, path: string): string | undefined {
  const found = path.split('.').reduce<unknown>((inner, key) => (isJson(inner) ? inner[key] : undefined), value);
  return typeof found === 'string' ? found : undefined;
}
