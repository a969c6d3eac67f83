/** How a target is named on the command line, and those options under the names that `harness/targets` has for them. */

import process from 'node:process';
import { defined } from '../common/defined.ts';
import { UsageError, usage } from '../common/usage.ts';
import { readInputText } from '../common/user-files.ts';
import { DIALECTS, type Dialect } from '../contract/versions.ts';
import type { ClientTargetOptions } from '../targets/client/open-client.ts';
import type { TargetFile } from '../targets/file-schema.ts';
import type { DeviceTargetOptions, PlatformTargetOptions } from '../targets/options.ts';
import { fieldsOf, fieldValues, TRANSPORTS, type TransportFieldName } from '../targets/transports/index.ts';
import type { Opening } from './check-options.ts';
import type { OptionsOf, OptionTable } from './options.ts';

const TARGET = 'Target';

/** Of a target of any kind. */
const anyTarget = {
  command: { type: 'string', describe: 'Shell command that starts the target', group: TARGET },
  image: { type: 'string', describe: 'Container image of the target', group: TARGET },
  port: {
    type: 'number',
    range: { whole: true, from: 1, to: 65_535 },
    describe: 'Port that the image listens on',
    group: TARGET,
  },
  target: { type: 'string', describe: 'Target file (YAML)', group: TARGET },
  ca: { type: 'string', describe: 'Certificate authorities to trust (PEM)', group: TARGET },
  artifact: {
    type: 'string',
    describe: 'File that you name as the implementation; a certificate has its SHA-256',
    group: TARGET,
  },
  name: { type: 'string', describe: 'Name of the implementation under test', group: TARGET },
  'target-version': { type: 'string', describe: 'Version of the implementation under test', group: TARGET },
  capability: { type: 'string', array: true, describe: 'Declare a capability', group: TARGET },
} as const satisfies OptionTable;

const SPOKEN = {
  dialect: { type: 'string', choices: DIALECTS, describe: 'Header names', group: TARGET },
  'api-version': { type: 'string', describe: 'API version to use', defaultText: 'the newest', group: TARGET },
} as const;

/** Of the platform of Muster's own that an agent enrols in. */
const ownPlatformOptions = {
  'platform-port': {
    type: 'number',
    range: { whole: true, from: 1, to: 65_535 },
    describe: "Port of Muster's platform that the agent enrols in",
    defaultText: 'a free one',
    group: TARGET,
  },
  'mqtt-port': {
    type: 'number',
    range: { whole: true, from: 1, to: 65_535 },
    describe: 'Port of its broker',
    defaultText: 'a free one',
    group: TARGET,
  },
  'platform-tls': {
    type: 'boolean',
    describe: 'Both over TLS; {ca} in the command and MUSTER_CA_FILE name the authority',
    group: TARGET,
  },
} as const satisfies OptionTable;

export const deviceTargetOptions = {
  ...transportOptions(),
  control: {
    type: 'string',
    describe:
      'Control API that drives the agent: URL, port or socket (with --image, a path in it), or the word platform',
    group: TARGET,
  },
  'control-token': {
    type: 'string',
    describe: 'File with the token of that API; or the token in MUSTER_CONTROL_TOKEN',
    group: TARGET,
  },
  ...anyTarget,
  dialect: SPOKEN.dialect,
  ...ownPlatformOptions,
} as const satisfies OptionTable;

/** The fields by which each transport is named, as options. */
function transportOptions(): Record<TransportFieldName, { type: 'string'; describe: string; group: string }> {
  const options = Object.entries(fieldsOf(TRANSPORTS)).map(([name, { help, variable }]) => [
    name,
    { type: 'string', describe: help, group: TARGET, ...defined({ secret: variable }) },
  ]);
  return Object.fromEntries(options) as ReturnType<typeof transportOptions>;
}

const API_KEY = {
  type: 'string',
  secret: 'MUSTER_API_KEY',
  describe: 'API key; or MUSTER_API_KEY in the environment',
  group: TARGET,
} as const;

export const platformTargetOptions = {
  url: { type: 'string', describe: 'Base URL ({base_url} of the specification)', group: TARGET },
  'api-key': API_KEY,
  'limited-key': {
    type: 'string',
    secret: 'MUSTER_LIMITED_KEY',
    describe: 'A key without devices:read; or MUSTER_LIMITED_KEY',
    group: TARGET,
  },
  ...SPOKEN,
  'online-device': { type: 'string', describe: 'Id of a device that answers pings', group: TARGET },
  'offline-device': { type: 'string', describe: 'Id of a device that does not answer pings', group: TARGET },
  ...anyTarget,
} as const satisfies OptionTable;

export const systemTargetOptions = {
  ...deviceTargetOptions,
  platform: { type: 'string', describe: 'Base URL of a platform that the agent is enrolled in', group: TARGET },
  'api-key': API_KEY,
  'device-id': { type: 'string', describe: "The platform's id of the agent's device", group: TARGET },
  ...SPOKEN,
} as const satisfies OptionTable;

/** A client runs once a situation, so that there is no address of it. */
export const clientTargetOptions = {
  command: {
    type: 'string',
    describe: 'Shell command that starts the client, once a situation',
    group: TARGET,
    conflicts: 'image',
  },
  image: { type: 'string', describe: 'Container image of the client, started once a situation', group: TARGET },
  artifact: anyTarget.artifact,
  name: anyTarget.name,
  'target-version': anyTarget['target-version'],
  capability: {
    type: 'string',
    array: true,
    describe: 'What the client can do, if it does not describe itself, e.g. follow,url or list',
    group: TARGET,
  },
  dialect: { ...SPOKEN.dialect, describe: 'Header names that the client sends to a Platform API' },
} as const satisfies OptionTable;

export function clientTarget(
  { 'target-version': version, ...args }: OptionsOf<typeof clientTargetOptions>,
  opening: Opening,
): ClientTargetOptions {
  const { command, image, artifact, name, capability, dialect } = args;
  return { ...defined({ command, image, artifact, name, capability, dialect, version }), ...opening };
}

export function deviceTarget(args: OptionsOf<typeof deviceTargetOptions>, opening: Opening): DeviceTargetOptions {
  const fields: Record<string, string> = fieldValues(args, TRANSPORTS);
  for (const [name, { variable }] of Object.entries(fieldsOf(TRANSPORTS))) {
    const value = variable === undefined ? undefined : process.env[variable];
    if (value !== undefined) fields[name] ??= value;
  }
  const { control, 'control-token': file } = args;
  const controlToken = file === undefined ? undefined : usage('--control-token', () => readInputText(file).trim());
  return { ...described(args), ...fields, ...defined({ control, controlToken }), ...opening };
}

export function platformTarget(args: OptionsOf<typeof platformTargetOptions>, opening: Opening): PlatformTargetOptions {
  const given = defined({
    url: args.url,
    apiKey: args['api-key'] ?? process.env['MUSTER_API_KEY'],
    limitedKey: args['limited-key'] ?? process.env['MUSTER_LIMITED_KEY'],
    dialect: args.dialect,
    apiVersion: args['api-version'],
    onlineDevice: args['online-device'],
    offlineDevice: args['offline-device'],
  });
  return { ...described(args), ...given, ...opening };
}

function described({ 'target-version': version, ...args }: OptionsOf<typeof anyTarget>) {
  const { command, image, port, target, ca, artifact, name, capability } = args;
  return defined({ command, image, port, target, ca, artifact, name, capability, version });
}

// What Muster's own platform is like, in which an agent enrols: options, and the same as fields of a target file.

/** As the agent reaches it. */
export interface OwnPlatform {
  dialect?: Dialect;
  /** Of the agent API. Default: a free one. */
  port?: number;
  /** Of the broker. Default: a free one. */
  mqttPort?: number;
  /** Both over TLS, by an authority made for the run. */
  tls?: boolean;
  /** Path of the agent's Device API that makes it ask the platform at once. */
  syncPath?: string;
}

/** The options as they were parsed. */
export interface OwnPlatformArguments {
  dialect?: Dialect | undefined;
  'platform-port'?: number | undefined;
  'mqtt-port'?: number | undefined;
  'platform-tls': boolean;
}

/** Options win over the target file. */
export function ownPlatform(args: OwnPlatformArguments, file: Partial<TargetFile> | undefined): OwnPlatform {
  const { dialect, port, mqtt_port: mqttPort, tls, sync_path: syncPath } = file?.control?.platform ?? {};
  const chosen = {
    dialect: args.dialect ?? dialect,
    port: args['platform-port'] ?? port,
    mqttPort: args['mqtt-port'] ?? mqttPort,
    tls: args['platform-tls'] || tls,
    syncPath,
  };
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined)) as OwnPlatform;
}

/** Throws UsageError for the first option that only Muster's own platform takes. `except`: options that mean something else here. */
export function refuseOwnPlatform(args: OwnPlatformArguments, instead: string, except: readonly string[] = []): void {
  const given = (['dialect', 'platform-port', 'mqtt-port', 'platform-tls'] as const).find(
    (name) => args[name] !== undefined && args[name] !== false && !except.includes(name),
  );
  if (given !== undefined) throw new UsageError(`--${given}: is about Muster's own platform; ${instead}`);
}
