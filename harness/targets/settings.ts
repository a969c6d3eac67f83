/**
 * What the options and the target file together say about a target, and the paths that a command's placeholders stand
 * for.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { defined } from '../common/defined.ts';
import { nearest, UsageError } from '../common/usage.ts';
import { CAPABILITIES, CAPABILITIES_OF, type Capability } from '../contract/capabilities.ts';
import { DIALECT_NAMES, NEWEST_VERSION } from '../contract/versions.ts';
import {
  controlFields,
  type DeviceTargetOptions,
  type ImageOptions,
  mergedFields,
  type PlatformTargetOptions,
  platformFields,
  startFields,
  type TargetFile,
  type TargetOptions,
} from './fields.ts';
import { type StartOptions, startOptions } from './launch/started.ts';
import { loadTargetFile } from './target-file.ts';
import { addressesIn, fieldsOf, readCa, TRANSPORTS, webAddress } from './transports/index.ts';
import type { Transport, TransportAddress } from './transports/transport.ts';

/** How a device is started, reached and driven, before anything is done about it. */
export interface DeviceSettings {
  /** The target file; empty when there is none. */
  readonly file: Partial<TargetFile>;
  /** Folder of the target file. */
  readonly folder: string | undefined;
  /** Declared capabilities; those that are detected are added. */
  readonly capabilities: Set<Capability>;
  /** Where the agent serves, or is to serve; undefined when its ready line will say. */
  readonly at: TransportAddress | undefined;
  /** Values of all fields of the transports. */
  readonly fields: Readonly<Record<string, string>>;
  readonly ca: string | undefined;
  readonly caFile: string | undefined;
  readonly command: { line: string; cwd: string | undefined } | undefined;
  readonly image: ImageOptions | undefined;
  /** Address of a control API. */
  readonly control: string | undefined;
  readonly startOptions: StartOptions;
  /** Removes the private folder that the command's placeholders lead to. */
  removeFolder(): void;
}

/** Throws UsageError. */
export function deviceSettings(options: DeviceTargetOptions): DeviceSettings {
  const { redactor, transports = TRANSPORTS } = options;
  const { file, folder } = fileOf(options, transports);
  const { device = {} } = file;
  const start = mergedFields(startFields, options, device);
  const fields: Record<string, string> = mergedFields(fieldsOf(transports), options, device);
  for (const [name, { variable }] of Object.entries(fieldsOf(transports))) {
    if (variable !== undefined) redactor.add(fields[name], variable);
  }
  const line = withPaths(start.command, options.placeholders);
  if (line !== undefined && start.image !== undefined) throw new UsageError('--command and --image: give one of them');
  const named = addressOf(options, device, transports);
  if (line === undefined && start.image === undefined && named === undefined) {
    const usages = transports.map(({ usage }) => usage).join(', ');
    throw new UsageError(`which device? Give one of ${usages}, --image IMAGE, --command LINE or --target FILE`);
  }
  const capabilities = declaredCapabilities('device', options, file);
  const ca = readCa(start.ca);
  const filled = line === undefined ? undefined : fillPlaceholders(line, transports);
  const { control } = mergedFields(controlFields, options, file.control);
  // With an image, a path is one inside the container.
  const inside = start.image !== undefined && options.control !== undefined && isAbsolute(options.control);
  return {
    file,
    folder,
    capabilities,
    at: named ?? filled?.at,
    fields,
    ca,
    caFile: start.ca,
    command: line === undefined ? undefined : { line: filled?.command ?? line, cwd: cwdOf(options, start, folder) },
    image: imageOf(start.image, { ...options, control: inside ? options.control : undefined }),
    control: inside ? undefined : (control ?? filled?.control),
    startOptions: startOptions(options, start.startSeconds, transports),
    removeFolder: () => filled?.remove(),
  };
}

export type PlatformSettings = ReturnType<typeof platformSettings>;

/** Throws UsageError. */
export function platformSettings(options: PlatformTargetOptions) {
  const { redactor } = options;
  const { file, folder } = fileOf(options);
  const start = mergedFields(startFields, options, file.platform);
  const values = mergedFields(platformFields, options, file.platform, options.env ?? process.env);
  const { url: address, apiKey, limitedKey, dialect = 'spec', apiVersion = NEWEST_VERSION, readOnly = false } = values;
  if (apiKey === undefined || apiKey === '') {
    throw new UsageError('--api-key: missing; give it, or set MUSTER_API_KEY');
  }
  redactor.add(apiKey, platformFields.apiKey.variable);
  redactor.add(limitedKey, platformFields.limitedKey.variable);
  if (address === undefined && start.command === undefined && start.image === undefined) {
    throw new UsageError('which platform? Give one of --url URL, --image IMAGE, --command LINE or --target FILE');
  }
  if (address !== undefined) webAddress('--url', address);
  const ca = readCa(start.ca);
  const capabilities = declaredCapabilities('platform', options, file);
  if (limitedKey !== undefined) capabilities.add('limited-key');
  if (readOnly) capabilities.delete('write');
  else capabilities.add('write').add('seed-data');
  return {
    file,
    address,
    apiKey,
    limitedKey,
    dialect,
    ...DIALECT_NAMES[dialect],
    apiVersion,
    onlineDevice: values.onlineDevice,
    offlineDevice: values.offlineDevice,
    readOnly,
    ca,
    caFile: start.ca,
    command: start.command,
    cwd: cwdOf(options, start, folder),
    image: imageOf(start.image, options),
    startSeconds: start.startSeconds,
    capabilities,
  };
}

function fileOf(
  { target, env = process.env, redactor }: TargetOptions,
  transports?: readonly Transport[],
): { file: Partial<TargetFile>; folder?: string } {
  return target === undefined ? { file: {} } : loadTargetFile(target, env, redactor, transports);
}

/** The folder of a command that the target file names. */
const cwdOf = (options: TargetOptions, { cwd }: { cwd?: string }, folder: string | undefined): string | undefined =>
  options.command === undefined ? (cwd ?? folder) : undefined;

/** Whether Muster knows a capability of that name. */
export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

/**
 * The capabilities of `--capability` and of a target file; a name may hold several, separated by commas. Throws
 * UsageError for the first name that a target of this kind cannot declare.
 */
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

/** The address among the options, or else that of the target file. */
function addressOf(
  options: DeviceTargetOptions,
  device: NonNullable<TargetFile['device']>,
  transports: readonly Transport[],
): TransportAddress | undefined {
  // With --image, --socket is the path inside the container.
  if (options.image !== undefined) return undefined;
  const given = addressesIn(options, transports);
  if (given.length > 1) {
    const names = given.map(({ transport }) => `--${transport.addressField}`);
    throw new UsageError(`${names.join(' and ')}: give one of them`);
  }
  return given[0] ?? addressesIn(device, transports)[0];
}

/** The options of the command line win over what a target file says of the image. */
function imageOf(
  image: string | ImageOptions | undefined,
  { port, socket, control }: { port?: number; socket?: string; control?: string | undefined },
): ImageOptions | undefined {
  if (image === undefined) return undefined;
  return { ...(typeof image === 'string' ? { name: image } : image), ...defined({ port, socket, control }) };
}

function withPaths(line: string | undefined, paths: Readonly<Record<string, string>> = {}): string | undefined {
  return Object.entries(paths).reduce((text, [name, path]) => text?.replaceAll(`{${name}}`, path), line);
}

/**
 * A command with paths in a private folder for `{socket}`, `{discovery}`, `{control}` and `{dir}`, and what the paths
 * are for.
 */
interface FilledCommand {
  command: string;
  /** Where the command was asked to serve; undefined when it names no placeholder of a transport. */
  at: TransportAddress | undefined;
  /** Where the command was asked to serve its control API. */
  control: string | undefined;
  /** Removes the folder. */
  remove(): void;
}

/**
 * The command with paths for its placeholders; undefined when it has none. The paths need no quoting, and they are
 * short because the path of a socket may have 107 bytes.
 */
function fillPlaceholders(command: string, transports: readonly Transport[]): FilledCommand | undefined {
  const fileNames = new Map([
    ...transports.flatMap(({ addressField, placeholder }) =>
      placeholder === undefined ? [] : [[addressField, placeholder] as const],
    ),
    ['control', 'control.sock'] as const,
    ['dir', 'agent'] as const,
  ]);
  const used = [...fileNames.keys()].filter((name) => command.includes(`{${name}}`));
  if (used.length === 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'muster-'));
  const path = (name: string): string => join(folder, fileNames.get(name) ?? name);
  const transport = transports.find(({ addressField }) => used.includes(addressField));
  return {
    command: used.reduce((line, name) => line.replaceAll(`{${name}}`, path(name)), command),
    at: transport === undefined ? undefined : { transport, address: path(transport.addressField) },
    control: used.includes('control') ? path('control') : undefined,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
