/** What the options and the target file together say about a device, and the paths that a command's placeholders stand for. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { defined } from '../common/defined.ts';
import { UsageError } from '../common/usage.ts';
import type { Capability } from '../contract/capabilities.ts';
import type { TargetFile } from './file-schema.ts';
import { type StartOptions, startOptions } from './launch/started.ts';
import { type DeviceTargetOptions, declaredCapabilities, type ImageOptions } from './options.ts';
import { loadTargetFile } from './target-file.ts';
import { addressesIn, fieldsOf, fieldValues, TRANSPORTS } from './transports/index.ts';
import type { Transport, TransportAddress } from './transports/transport.ts';
import { readCa } from './transports/url.ts';

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

/** Options win over the target file. Throws UsageError. */
export function deviceSettings(options: DeviceTargetOptions): DeviceSettings {
  const { redactor, transports = TRANSPORTS } = options;
  const env = options.env ?? process.env;
  const loaded = options.target === undefined ? undefined : loadTargetFile(options.target, env, redactor, transports);
  const { file, folder } = loaded ?? { file: {}, folder: undefined };
  const device = file.device ?? {};
  const fields = { ...fieldValues(device, transports), ...fieldValues(options, transports) };
  for (const [name, { variable }] of Object.entries(fieldsOf(transports))) {
    if (variable !== undefined) redactor.add(fields[name], variable);
  }
  const line = withPaths(options.command ?? device.command, options.placeholders);
  const image = options.image ?? device.image;
  if (line !== undefined && image !== undefined) throw new UsageError('--command and --image: give one of them');
  const named = addressOf(options, device, transports);
  if (line === undefined && image === undefined && named === undefined) {
    throw new UsageError(
      `which device? Give one of ${transports.map(({ usage }) => usage).join(', ')}, --image IMAGE, --command LINE or --target FILE`,
    );
  }
  const capabilities = declaredCapabilities('device', options, file);
  const caFile = options.ca ?? device.ca;
  const ca = readCa(caFile);
  const filled = line === undefined ? undefined : fillPlaceholders(line, transports);
  const cwd = options.command === undefined ? (device.cwd ?? folder) : undefined;
  // With an image, a path is one inside the container.
  const controlInside = image !== undefined && options.control !== undefined && isAbsolute(options.control);
  return {
    ...{ file, folder, capabilities, fields, ca, caFile },
    at: named ?? filled?.at,
    command: line === undefined ? undefined : { line: filled?.command ?? line, cwd },
    image: image === undefined ? undefined : imageOptions(image, options, controlInside),
    control: controlInside ? undefined : (options.control ?? file.control?.http ?? filled?.control),
    startOptions: startOptions(options, device.start_seconds, transports),
    removeFolder: () => filled?.remove(),
  };
}

/** The address among the options, or else that of the target file. */
function addressOf(
  options: DeviceTargetOptions,
  device: NonNullable<TargetFile['device']>,
  transports: readonly Transport[],
): TransportAddress | undefined {
  // With --image, --socket is the path inside the container.
  if (options.image !== undefined) return undefined;
  const given = addressesIn(fieldValues(options, transports), transports);
  if (given.length > 1) {
    const names = given.map(({ transport }) => `--${transport.addressField}`);
    throw new UsageError(`${names.join(' and ')}: give one of them`);
  }
  return given[0] ?? addressesIn(fieldValues(device, transports), transports)[0];
}

function imageOptions(
  image: string | ImageOptions,
  options: DeviceTargetOptions,
  controlInside: boolean,
): ImageOptions {
  return {
    ...(typeof image === 'string' ? { name: image } : image),
    ...defined({ port: options.port, socket: options.socket }),
    ...(controlInside && options.control !== undefined ? { control: options.control } : {}),
  };
}

function withPaths(line: string | undefined, paths: Readonly<Record<string, string>> = {}): string | undefined {
  return Object.entries(paths).reduce((text, [name, path]) => text?.replaceAll(`{${name}}`, path), line);
}

/** A command with paths in a private folder for `{socket}`, `{discovery}`, `{control}` and `{dir}`, and what the paths are for. */
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
 * The command with paths for its placeholders; undefined when it has none. The paths need no quoting, and they are short because
 * the path of a socket may have 107 bytes.
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
