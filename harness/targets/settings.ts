import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type Document, isMap } from 'yaml';
import { defined } from '../common/defined.ts';
import { ownedFolder } from '../common/owner.ts';
import { isSecretName, type Redactor } from '../common/redact.ts';
import { nearest, UsageError } from '../common/usage.ts';
import { readYaml, type Yaml } from '../common/yaml.ts';
import { CAPABILITIES, CAPABILITIES_OF, type Capability } from '../contract/capabilities.ts';
import { type Problem, stepsOf } from '../contract/shape.ts';
import { NAMES_BY_DIALECT, NEWEST_VERSION } from '../contract/versions.ts';
import {
  controlFields,
  type DeviceTargetOptions,
  filedFields,
  type ImageOptions,
  mergedFields,
  type PlatformTargetOptions,
  platformFields,
  startFields,
  type TargetFile,
  type TargetOptions,
  targetFile,
  type Values,
} from './fields.ts';
import type { StartOptions } from './launch/started.ts';
import {
  addressesIn,
  endpointOf,
  loopback,
  readCa,
  TRANSPORT_FIELDS,
  TRANSPORTS,
  type Transport,
  type TransportAddress,
  unix,
  url,
  webAddress,
} from './transports/index.ts';

export type StartSettings = ReturnType<typeof startSettings> & {
  image: ImageOptions | undefined;
  at: TransportAddress | undefined;
  control?: string | undefined;
};

export type DeviceSettings = ReturnType<typeof deviceSettings>;

/** Throws UsageError for invalid options or an invalid target file. */
export function deviceSettings(options: DeviceTargetOptions) {
  const loaded = fileOf(options);
  const { file } = loaded;
  const { device = {} } = file;
  const start = mergedFields(startFields, options, device);
  // Ignores `options.env`, which may hold a provisioning token by the same name.
  const fields: Record<string, string> = mergedFields(TRANSPORT_FIELDS, options, device, process.env);
  options.redactor.add(fields['token'], url.fields.token.variable);
  let line = start.command;
  for (const [name, path] of Object.entries(options.placeholders ?? {})) line = line?.replaceAll(`{${name}}`, path);
  if (line !== undefined && start.image !== undefined) throw new UsageError('--command and --image: give one of them');
  const named = addressOf(options, device);
  if (named?.transport === url) webAddress('--url', named.address);
  if (line === undefined && start.image === undefined && named === undefined) {
    const usages = TRANSPORTS.map(({ usage }) => usage).join(', ');
    throw new UsageError(`which device? Give one of ${usages}, --image IMAGE, --command LINE or --target FILE`);
  }
  const capabilities = declaredCapabilities('device', options, file);
  const started = startSettings(options, start, loaded, TRANSPORTS);
  const { control } = mergedFields(controlFields, options, file.control);
  // Refuses a mistyped address before the agent starts.
  if (control !== undefined) endpointOf(control);
  const filled = line === undefined ? undefined : fillPlaceholders(line);
  const inside = start.image !== undefined && options.control !== undefined && isAbsolute(options.control);
  return {
    ...started,
    capabilities,
    at: named ?? filled?.at,
    fields,
    command: filled?.command ?? line,
    image: imageOf(start.image, { ...options, control: inside ? options.control : undefined }),
    control: inside ? undefined : (control ?? filled?.control),
    removeFolder: () => filled?.remove(),
  };
}

export type PlatformSettings = ReturnType<typeof platformSettings>;

/** Throws UsageError for invalid options or an invalid target file. */
export function platformSettings(options: PlatformTargetOptions) {
  const { redactor } = options;
  const loaded = fileOf(options);
  const { file } = loaded;
  const start = mergedFields(startFields, options, file.platform);
  const values = mergedFields(platformFields, options, file.platform, options.env ?? process.env);
  const { url: address, apiKey, limitedKey, dialect = 'spec', apiVersion = NEWEST_VERSION, readOnly = false } = values;
  if (apiKey === undefined) throw new UsageError('--api-key: missing; give it, or set MUSTER_API_KEY');
  redactor.add(apiKey, platformFields.apiKey.variable);
  redactor.add(limitedKey, platformFields.limitedKey.variable);
  if (address === undefined && start.command === undefined && start.image === undefined)
    throw new UsageError('which platform? Give one of --url URL, --image IMAGE, --command LINE or --target FILE');
  if (address !== undefined) webAddress('--url', address);
  const started = startSettings(options, start, loaded, [url]);
  const capabilities = declaredCapabilities('platform', options, file);
  if (limitedKey !== undefined) capabilities.add('limited-key');
  if (readOnly) capabilities.delete('write');
  else capabilities.add('write').add('seed-data');
  const image = imageOf(start.image, options);
  return {
    ...started,
    at: address === undefined ? undefined : { transport: url, address },
    apiKey,
    limitedKey,
    dialect,
    ...NAMES_BY_DIALECT[dialect],
    apiVersion,
    onlineDevice: values.onlineDevice,
    offlineDevice: values.offlineDevice,
    readOnly,
    image: image === undefined ? undefined : { port: 8080, ...image },
    capabilities,
  };
}

function startSettings(
  options: TargetOptions,
  { command, cwd, ca, startSeconds }: Values<typeof startFields>,
  { file, folder }: ReturnType<typeof fileOf>,
  transports: readonly Transport[],
) {
  return {
    file,
    folder,
    command,
    cwd: options.command === undefined ? (cwd ?? folder) : undefined,
    ca: readCa(ca),
    caFile: ca,
    startOptions: {
      env: options.env ?? process.env,
      timeoutMs: options.startMs ?? (startSeconds === undefined ? 60_000 : startSeconds * 1000),
      transports,
      notify: options.notify ?? (() => {}),
      signal: options.signal,
    } satisfies StartOptions,
  };
}

const fileOf = ({ target, env = process.env, redactor }: TargetOptions): { file: TargetFile; folder?: string } =>
  target === undefined ? { file: {} } : loadTargetFile(target, env, redactor);

export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

/** Throws UsageError for an unknown name. */
export function declaredCapabilities(
  kind: keyof typeof CAPABILITIES_OF,
  { capability = [] }: Pick<TargetOptions, 'capability'>,
  file: Partial<TargetFile>,
): Set<Capability> {
  const accepted = CAPABILITIES_OF[kind];
  const names = capability.flatMap((name) => name.split(','));
  const unknown = names.find((name) => !accepted.some((one) => one === name));
  if (unknown !== undefined) {
    const near = nearest(unknown, accepted);
    const meant = near === undefined ? '' : `did you mean ${near}? `;
    throw new UsageError(`--capability ${unknown}: ${meant}accepted are ${accepted.join(', ')}`);
  }
  return new Set([...names, ...(file.capabilities ?? [])].filter(isCapability));
}

function addressOf(options: DeviceTargetOptions, device: NonNullable<TargetFile['device']>) {
  // With `--image`, `--socket` names a path inside the container.
  if (options.image !== undefined) return undefined;
  const given = addressesIn(options, TRANSPORTS);
  if (given.length > 1) {
    const names = given.map(({ transport }) => `--${transport.addressField}`);
    throw new UsageError(`${names.join(' and ')}: give one of them`);
  }
  return given[0] ?? addressesIn(device, TRANSPORTS)[0];
}

function imageOf(
  image: string | ImageOptions | undefined,
  { port, socket, control }: { port?: number; socket?: string; control?: string | undefined },
): ImageOptions | undefined {
  if (image === undefined) return undefined;
  const all = { ...(typeof image === 'string' ? { name: image } : image), ...defined({ port, socket, control }) };
  if (all.port !== undefined && all.control !== undefined)
    throw new UsageError(
      `--control ${all.control}: an image with a port has no mounted folder; give its control API's URL or port`,
    );
  return all;
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  socket: unix.placeholder,
  discovery: loopback.placeholder,
  control: 'control.sock',
  dir: 'agent',
};

/**
 * Fills `{socket}`, `{discovery}`, `{control}` and `{dir}` with paths in a private folder. The paths are short, because
 * a unix socket's path has at most `LONGEST_SOCKET_PATH` bytes.
 */
function fillPlaceholders(command: string) {
  const used = Object.keys(PLACEHOLDERS).filter((name) => command.includes(`{${name}}`));
  if (used.length === 0) return undefined;
  if (!/^[\w./:=,@%+-]+$/.test(tmpdir()))
    throw new UsageError(`TMPDIR ${tmpdir()}: placeholders of a command need a path without blanks or quotes`);
  const folder = ownedFolder('');
  const path = (name: string): string => join(folder, PLACEHOLDERS[name] ?? name);
  const transport = TRANSPORTS.find(({ addressField }) => used.includes(addressField));
  return {
    command: used.reduce((line, name) => line.replaceAll(`{${name}}`, path(name)), command),
    at: transport && { transport, address: path(transport.addressField) },
    control: used.includes('control') ? path('control') : undefined,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

type Json = Record<string, unknown>;
type Environment = Record<string, string | undefined>;

/** Throws UsageError with the position of a mistake and the accepted fields. */
export function loadTargetFile(path: string, env: Environment, redactor: Redactor) {
  const full = resolve(path);
  const files: Parsed[] = [];
  const merged = readMerged(full, [], files, env, redactor);
  const [problem] = targetFile.problems(merged);
  if (problem !== undefined) {
    const { path: pointer, message } = problem;
    const beside = stepsOf(problem).slice(0, -1);
    const holder = beside.reduce<Members | undefined>((at, step) => at?.properties?.[step], targetFile.schema);
    const known = message.includes('not known') ? Object.keys(holder?.properties ?? {}) : [];
    const accepted = known.length === 0 ? '' : `; accepted are ${known.join(', ')}`;
    throw new UsageError(`--target ${positionOf(problem, files)}: ${pointer || '/'} ${message}${accepted}`);
  }
  for (const { path, field } of filedFields) {
    const value = valueAt(merged, path);
    if (field.variable !== undefined && typeof value === 'string') redactor.add(value);
  }
  return { file: merged as TargetFile, folder: dirname(full) };
}

interface Members {
  properties?: { readonly [name: string]: object };
}

function readMerged(file: string, chain: string[], files: Parsed[], env: Environment, redactor: Redactor): Json {
  if (chain.includes(file)) throw new UsageError(`--target: ${[...chain, file].join(' extends ')}: a circle`);
  if (!existsSync(file))
    throw new UsageError(`--target ${file}: no such file${chain.length > 0 ? ` (extended by ${chain.at(-1)})` : ''}`);
  const { value, document, lines } = readYaml('--target', file);
  if (!isMap(document.contents))
    throw new UsageError(`--target ${file}: must be a map (name, device, platform, control)`);
  const own = withVariables(value, env, redactor, file) as Json;
  for (const { path, field } of filedFields) {
    const holder = valueAt(own, path.slice(0, -1));
    const name = path.at(-1) ?? '';
    const text = isJson(holder) ? holder[name] : undefined;
    if (!isJson(holder) || typeof text !== 'string') continue;
    const isPath = typeof field.isPath === 'function' ? field.isPath(text) : field.isPath;
    if (isPath) holder[name] = resolve(dirname(file), text);
  }
  const { extends: bases, ...rest } = own;
  const list = bases === undefined ? [] : [bases].flat();
  const below = list.map((base) =>
    readMerged(resolve(dirname(file), String(base)), [...chain, file], files, env, redactor),
  );
  files.push({ file, document, lines });
  return [...below, rest].reduce(merge, {});
}

/** Fills in `${NAME}` and `${NAME:-default}`; redacts variables with a secret's name. */
function withVariables(value: unknown, env: Environment, redactor: Redactor, file: string): unknown {
  const inner = (item: unknown): unknown => withVariables(item, env, redactor, file);
  if (Array.isArray(value)) return value.map(inner);
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item)]));
  if (typeof value !== 'string') return value;
  return value.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
    const found = env[name] ?? fallback;
    if (found === undefined) throw new UsageError(`--target ${file}: the environment variable ${name} is not set`);
    if (isSecretName(name)) redactor.add(found);
    return found;
  });
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

type Parsed = Pick<Yaml, 'document' | 'lines'> & { file: string };

function positionOf(problem: Problem, files: readonly Parsed[]): string {
  for (let path = stepsOf(problem); path.length > 0; path = path.slice(0, -1)) {
    for (const { file, document, lines } of files.toReversed()) {
      const at = keyAt(document, path);
      if (at === undefined) continue;
      const { line, col } = lines.linePos(at);
      return `${file}:${line}:${col}`;
    }
  }
  return files.at(-1)?.file ?? '';
}

function keyAt(document: Document.Parsed, path: readonly (string | number)[]): number | undefined {
  const holder = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const items = (holder as { items?: unknown } | null | undefined)?.items;
  if (!Array.isArray(items)) return undefined;
  const last = String(path.at(-1));
  for (const [index, item] of items.entries()) {
    const { key, range } = item as { key?: { value?: unknown; range?: number[] }; range?: number[] };
    if (key !== undefined ? String(key.value) === last : String(index) === last) return (key?.range ?? range)?.[0];
  }
  return undefined;
}
