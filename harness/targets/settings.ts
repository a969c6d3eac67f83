/** Merges options and target file into settings, and fills placeholders of a command. */

import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { defined } from '../common/defined.ts';
import { ownedFolder } from '../common/owner.ts';
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
  type Values,
} from './fields.ts';
import type { StartOptions } from './launch/started.ts';
import { loadTargetFile } from './target-file.ts';
import {
  addressesIn,
  loopback,
  readCa,
  TRANSPORT_FIELDS,
  TRANSPORTS,
  unix,
  url,
  webAddress,
} from './transports/index.ts';
import type { Transport, TransportAddress } from './transports/transport.ts';

export type StartSettings = ReturnType<typeof startSettings> & {
  image: ImageOptions | undefined;
  at: TransportAddress | undefined;
  control?: string | undefined;
};

export type DeviceSettings = ReturnType<typeof deviceSettings>;

/** Settings of a device. Throws UsageError for invalid options or an invalid target file. */
export function deviceSettings(options: DeviceTargetOptions) {
  const { redactor } = options;
  const loaded = fileOf(options);
  const { file } = loaded;
  const { device = {} } = file;
  const start = mergedFields(startFields, options, device);
  const fields: Record<string, string> = mergedFields(TRANSPORT_FIELDS, options, device);
  redactor.add(fields['token'], url.fields.token.variable);
  const line = Object.entries(options.placeholders ?? {}).reduce(
    (text, [name, path]) => text?.replaceAll(`{${name}}`, path),
    start.command,
  );
  if (line !== undefined && start.image !== undefined) throw new UsageError('--command and --image: give one of them');
  const named = addressOf(options, device);
  if (line === undefined && start.image === undefined && named === undefined) {
    const usages = TRANSPORTS.map(({ usage }) => usage).join(', ');
    throw new UsageError(`which device? Give one of ${usages}, --image IMAGE, --command LINE or --target FILE`);
  }
  const capabilities = declaredCapabilities('device', options, file);
  const started = startSettings(options, start, loaded, TRANSPORTS);
  const filled = line === undefined ? undefined : fillPlaceholders(line);
  const { control } = mergedFields(controlFields, options, file.control);
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

const PLATFORM_PORT = 8080;

/** Settings of a platform. Throws UsageError for invalid options or an invalid target file. */
export function platformSettings(options: PlatformTargetOptions) {
  const { redactor } = options;
  const loaded = fileOf(options);
  const { file } = loaded;
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
    ...DIALECT_NAMES[dialect],
    apiVersion,
    onlineDevice: values.onlineDevice,
    offlineDevice: values.offlineDevice,
    readOnly,
    image: image === undefined ? undefined : { port: PLATFORM_PORT, ...image },
    capabilities,
  };
}

const START_MS = 60_000;

function startSettings(
  options: TargetOptions,
  { command, cwd, ca, startSeconds }: Values<typeof startFields>,
  { file, folder }: ReturnType<typeof fileOf>,
  transports: readonly Transport[],
) {
  const started: StartOptions = {
    env: options.env ?? process.env,
    timeoutMs: options.startMs ?? (startSeconds === undefined ? START_MS : startSeconds * 1000),
    transports,
    notify: options.notify ?? (() => {}),
    signal: options.signal,
  };
  return {
    file,
    folder,
    command,
    cwd: options.command === undefined ? (cwd ?? folder) : undefined,
    ca: readCa(ca),
    caFile: ca,
    startOptions: started,
  };
}

function fileOf({ target, env = process.env, redactor }: TargetOptions): { file: TargetFile; folder?: string } {
  return target === undefined ? { file: {} } : loadTargetFile(target, env, redactor);
}

export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

/** Capabilities from options and target file. Throws UsageError for an unknown name. */
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

function addressOf(
  options: DeviceTargetOptions,
  device: NonNullable<TargetFile['device']>,
): TransportAddress | undefined {
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
  return { ...(typeof image === 'string' ? { name: image } : image), ...defined({ port, socket, control }) };
}

const UNQUOTED = /^[\w./:=,@%+-]+$/;

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  socket: unix.placeholder,
  discovery: loopback.placeholder,
  control: 'control.sock',
  dir: 'agent',
};

/**
 * Fills the placeholders `{socket}`, `{discovery}`, `{control}` and `{dir}` with paths in a private folder. The paths
 * are short, because a unix socket's path has at most 107 bytes. Undefined without placeholders.
 */
function fillPlaceholders(command: string) {
  const used = Object.keys(PLACEHOLDERS).filter((name) => command.includes(`{${name}}`));
  if (used.length === 0) return undefined;
  const folder = ownedFolder('');
  if (!UNQUOTED.test(folder))
    throw new UsageError(`TMPDIR ${tmpdir()}: placeholders of a command need a path without blanks or quotes`);
  const path = (name: string): string => join(folder, PLACEHOLDERS[name] ?? name);
  const transport = TRANSPORTS.find(({ addressField }) => used.includes(addressField));
  return {
    command: used.reduce((line, name) => line.replaceAll(`{${name}}`, path(name)), command),
    at: transport === undefined ? undefined : { transport, address: path(transport.addressField) },
    control: used.includes('control') ? path('control') : undefined,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
