/** Fields of a target, declared once for options, target files and environment variables. */
import { isAbsolute } from 'node:path';
import type { Static, TOptional, TSchema, TString } from 'typebox';
import type { HttpClient } from '../client/http.ts';
import type { Redactor } from '../common/redact.ts';
import { headerSecret } from '../common/usage.ts';
import { CAPABILITIES } from '../contract/capabilities.ts';
import { oneOf, shape, Type } from '../contract/shape.ts';
import { DIALECTS, SUPPORTED_VERSIONS } from '../contract/versions.ts';
import type { Control } from './control/control.ts';
import { TRANSPORT_FIELDS, type TransportFields } from './transports/index.ts';

export interface Field {
  readonly type?: TSchema;
  /** Schema of the option. Default: `type`, the schema in a target file. */
  readonly given?: TSchema;
  /** A field without help has no option. */
  readonly help?: string;
  readonly defaultText?: string;
  readonly conflicts?: string;
  readonly description?: string;
  /** Name of the option, `false` for none. Default: the field's key with dashes. */
  readonly option?: string | false;
  /** Name in a target file, `false` for none. Default: the field's key with underscores. */
  readonly file?: string | false;
  readonly isPath?: boolean | ((value: string) => boolean);
  /** Environment variable that holds the secret if neither option nor target file gives it. */
  readonly variable?: string;
}

export type Fields = Readonly<Record<string, Field>>;

const TEXT = Type.String({ minLength: 1 });
const PORT = Type.Integer({ minimum: 1, maximum: 65_535 });
const SECONDS = Type.Number({ exclusiveMinimum: 0, maximum: 86_400 });
const FLAG = Type.Boolean();
const CLOSED = { additionalProperties: false };

const image = Type.Object(
  {
    name: Type.String({ minLength: 1, description: 'Image reference, e.g. registry.example/agent:1.3' }),
    ...optional({
      socket: {
        description:
          'Path of the agent’s socket inside the container; its folder is mounted. Default /run/muster/agent.sock',
      },
      control: { description: 'Path of a control socket inside the container, in the same folder' },
      port: { type: PORT, description: 'Port to map, instead of a socket' },
      args: { type: Type.Array(Type.String()), description: 'Arguments in place of the image’s own' },
      env: { type: Type.Record(Type.String(), Type.String()) },
      user: { description: 'User (uid:gid) inside the container; `host` is the user who runs Muster' },
    }),
  },
  CLOSED,
);

export type ImageOptions = Omit<Static<typeof image>, 'args'> & { args?: readonly string[] };

export const startFields = {
  command: {
    help: 'Shell command that starts the target',
    description: 'Shell line that starts it; it is ended with all its children',
  },
  cwd: {
    option: false,
    description: 'Folder in which the command runs. Default: the folder of this file',
    isPath: true,
  },
  image: { type: Type.Union([Type.String({ minLength: 1 }), image]), help: 'Container image of the target' },
  startSeconds: { option: false, type: SECONDS, description: 'Seconds within which it must serve' },
  port: { file: false, type: PORT, help: 'Port that the image listens on' },
  target: { file: false, help: 'Target file (YAML)', isPath: true },
  ca: {
    help: 'Certificate authorities to trust (PEM)',
    description: 'PEM file of certificate authorities to trust besides the system’s',
    isPath: true,
  },
} as const satisfies Fields;

export const identityFields = {
  artifact: {
    help: 'File that you name as the implementation; a certificate has its SHA-256',
    description: 'File that you name as the implementation under test; a certificate has its SHA-256',
    isPath: true,
  },
  name: {
    help: 'Name of the implementation under test',
    description: 'Name of the implementation under test, as a certificate shows it',
  },
  version: {
    option: 'target-version',
    help: 'Version of the implementation under test',
    description: 'Version of the implementation under test',
  },
  capability: {
    file: 'capabilities',
    type: Type.Array(oneOf(CAPABILITIES)),
    given: Type.Array(TEXT),
    help: 'Declare a capability',
    description: 'Declared beside those that are detected',
  },
} as const satisfies Fields;

export const controlFields = {
  control: {
    file: 'http',
    help: 'Control API that drives the agent: URL, port or socket (with --image, a path in it), or the word platform',
    description: 'Address of a control API: URL, port or socket path',
    isPath: (address: string) => !/^(\d+|https?:.*|platform)$/i.test(address) && !isAbsolute(address),
  },
  controlToken: {
    file: false,
    help: 'File with the token of that API; or the token in MUSTER_CONTROL_TOKEN',
    isPath: true,
  },
} as const satisfies Fields;

const commandFields = {
  drive: {
    description:
      'Shell line; $MUSTER_ACTION is deploy, remove or publish, the request is on stdin, the answer on stdout',
  },
  compact: { description: 'Shell line that compacts the event log and prints {"earliest_id","latest_id"}' },
  compactRestarts: { type: FLAG, description: '`compact` restarts the agent, so that its event streams end' },
  fill: {
    description:
      'Shell line, run while the agent is stopped, that fills its event log: the next event makes it compact',
  },
  stop: { description: 'Shell line that stops the agent; $MUSTER_SIGNAL is SIGTERM or SIGKILL' },
  start: { description: 'Shell line that starts the agent and ends when it serves' },
  retention: { type: Type.Integer({ minimum: 1 }), description: 'Events the log keeps at most' },
  heartbeatSeconds: { type: SECONDS },
  eventLog: { description: 'Path of the JSONL event log', isPath: true },
  configRoot: { description: 'Folder below which config files are written', isPath: true },
} as const satisfies Fields;

export const ownPlatformFields = {
  dialect: { type: oneOf(DIALECTS), help: 'Header names' },
  port: {
    option: 'platform-port',
    type: PORT,
    help: "Port of Muster's platform that the agent enrols in",
    description: 'Port of the platform. Default: a free one',
    defaultText: 'a free one',
  },
  mqttPort: {
    type: PORT,
    help: 'Port of its broker',
    description: 'Port of its broker. Default: a free one',
    defaultText: 'a free one',
  },
  tls: {
    option: 'platform-tls',
    type: FLAG,
    help: 'Both over TLS; {ca} in the command and MUSTER_CA_FILE name the authority',
    description: 'Both over TLS, by an authority made for the run: {ca}, $MUSTER_CA_FILE',
  },
  syncPath: {
    option: false,
    type: Type.String({ pattern: '^/' }),
    description: 'Path of the Device API that, posted to, makes the agent ask the platform at once',
  },
} as const satisfies Fields;

export const platformFields = {
  url: { help: 'Base URL ({base_url} of the specification)', description: '{base_url}' },
  apiKey: {
    help: 'API key; or MUSTER_API_KEY in the environment',
    description: 'API key; `$` and a name in braces takes it from the environment',
    variable: 'MUSTER_API_KEY',
  },
  limitedKey: {
    help: 'A key without devices:read; or MUSTER_LIMITED_KEY',
    description: 'API key without devices:read',
    variable: 'MUSTER_LIMITED_KEY',
  },
  dialect: { type: oneOf(DIALECTS), help: 'Header names' },
  apiVersion: { type: oneOf(SUPPORTED_VERSIONS), given: TEXT, help: 'API version to use', defaultText: 'the newest' },
  onlineDevice: { help: 'Id of a device that answers pings', description: 'Id of a device that answers a ping' },
  offlineDevice: {
    help: 'Id of a device that does not answer pings',
    description: 'Id of a device that does not answer a ping',
  },
  readOnly: { type: FLAG, description: 'Send this platform nothing but GET requests' },
} as const satisfies Fields;

export const systemFields = {
  platform: { help: 'Base URL of a platform that the agent is enrolled in' },
  platformName: { help: 'Name of that platform, by which muster fit finds the pair' },
  platformVersion: { help: 'Version of that platform' },
  apiKey: platformFields.apiKey,
  deviceId: { help: "The platform's id of the agent's device" },
  dialect: platformFields.dialect,
  apiVersion: platformFields.apiVersion,
} as const satisfies Fields;

/** Muster starts each client, so a client has no address and no target file. */
export const clientFields = {
  command: { help: 'Shell command that starts the client, once a situation', conflicts: 'image' },
  image: { help: 'Container image of the client, started once a situation' },
  ...identityFields,
  capability: {
    ...identityFields.capability,
    help: 'What the client can do, if it does not describe itself, e.g. follow,url or list',
  },
  dialect: { type: oneOf(DIALECTS), help: 'Header names that the client sends to a Platform API' },
} as const satisfies Fields;

type Words<S, Joint extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `${Joint}${Lowercase<First>}`}${Words<Rest, Joint>}`
  : S;
export type OptionName<Name, F> = F extends { help: string }
  ? F extends { option: infer Option extends string }
    ? Option
    : Words<Name, '-'>
  : never;
type FileName<Name, F> = F extends { file: false }
  ? never
  : F extends { file: infer InFile extends string }
    ? InFile
    : Words<Name, '_'>;
type InFile<F> = F extends { type: infer T extends TSchema } ? T : TString;
export type Value<F> = F extends { given: infer T extends TSchema } ? Readonly<Static<T>> : Static<InFile<F>>;

export type Values<T extends Fields> = { [Name in keyof T]?: Value<T[Name]> };
type Options<T extends Fields> = {
  [Name in keyof T as T[Name] extends { option: false } ? never : Name]?: Value<T[Name]>;
};

export const optionName = (name: string, { option }: Field): string => option || words(name, '-');

function fileName(name: string, { file }: Field): string {
  return file || words(name, '_');
}

function words(name: string, joint: string): string {
  return name.replace(/[A-Z]/g, (letter) => joint + letter.toLowerCase());
}

/** Prefers the option to the target file, and both to the environment. An unset flag leaves the choice to the file. */
export function mergedFields<T extends Fields>(
  fields: T,
  options: object,
  file: object = {},
  env: Readonly<Record<string, string | undefined>> = {},
): Values<T> {
  const entries = Object.entries<Field>(fields).map(([name, field]) => {
    const option = field.option === false ? undefined : saidOf(options, name);
    const filed = field.file === false ? undefined : saidOf(file, fileName(name, field));
    if (field.variable === undefined) return [name, option ?? filed];
    // Takes an empty secret for none, because a script may set its variable to an empty text.
    const secret = (option ?? filed ?? env[field.variable]) || undefined;
    return [name, typeof secret === 'string' ? headerSecret(`--${optionName(name, field)}`, secret) : secret];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Values<T>;
}

function saidOf(holder: object, name: string): unknown {
  const value = Object.hasOwn(holder, name) ? (holder as Record<string, unknown>)[name] : undefined;
  return value === false ? undefined : value;
}

type Shapes<T extends Fields> = { [Name in keyof T as FileName<Name, T[Name]>]: TOptional<InFile<T[Name]>> };

function optional<T extends Fields>(fields: T): Shapes<T> {
  const entries = Object.entries<Field>(fields).filter(([, { file }]) => file !== false);
  const shapes = entries.map(([name, field]) => {
    const { type = TEXT, description } = field;
    return [fileName(name, field), Type.Optional(description === undefined ? type : { ...type, description })];
  });
  return Object.fromEntries(shapes) as Shapes<T>;
}

const { name, version, artifact, capabilities } = optional(identityFields);
const ownPlatform = Type.Object(optional(ownPlatformFields), {
  ...CLOSED,
  description: 'What the platform is like that the agent enrols in with --control platform',
});
const control = { ...optional(controlFields), ...optional(commandFields), platform: Type.Optional(ownPlatform) };

export const targetFile = shape(
  'target file',
  Type.Object(
    {
      $schema: Type.Optional(Type.String()),
      extends: Type.Optional(
        Type.Union([Type.String(), Type.Array(Type.String())], {
          description: 'Other target files, relative to this one; the fields of this file win over theirs',
        }),
      ),
      name,
      version,
      artifact,
      device: Type.Optional(Type.Object({ ...optional(TRANSPORT_FIELDS), ...optional(startFields) }, CLOSED)),
      control: Type.Optional(Type.Object(control, CLOSED)),
      platform: Type.Optional(Type.Object({ ...optional(platformFields), ...optional(startFields) }, CLOSED)),
      capabilities,
      fail_on: Type.Optional(
        Type.Union([oneOf(['should']), Type.Array(TEXT, { minItems: 1 })], {
          description:
            'SHOULDs that fail a run: `should` for all of them, or a list of ids and sections. Ids of another API ' +
            'than the one that is checked mean nothing; --fail-on wins',
        }),
      ),
    },
    {
      ...CLOSED,
      title: 'Muster target',
      description: 'The implementation under test: how it is reached and how it is driven',
    },
  ),
);
export type TargetFile = Static<typeof targetFile.schema>;

export const filedFields: readonly { path: string[]; field: Field }[] = Object.entries({
  '': identityFields,
  device: { ...TRANSPORT_FIELDS, ...startFields },
  control: { ...controlFields, ...commandFields },
  'control.platform': ownPlatformFields,
  platform: { ...platformFields, ...startFields },
} satisfies Record<string, Fields>).flatMap(([part, fields]) =>
  Object.entries<Field>(fields)
    .filter(([, { file }]) => file !== false)
    .map(([name, field]) => ({ path: [...part.split('.').filter(Boolean), fileName(name, field)], field })),
);

export const PATIENCE_MS = 10_000;

export interface TargetOptions extends Options<typeof startFields>, Options<typeof identityFields> {
  redactor: Redactor;
  /** Environment of started commands and of `${NAME}` in a target file. Default: environment of this process. */
  env?: Record<string, string | undefined>;
  /** Milliseconds within which a started target must serve. Default 60 000. */
  startMs?: number;
  /** Milliseconds that a check waits for an immediate effect. Default 10 000. */
  patienceMs?: number;
  /** Milliseconds within which the target must give its first answer. Default: three times `patienceMs`. */
  firstAnswerMs?: number;
  userAgent?: string | undefined;
  notify?(text: string): void;
  signal?: AbortSignal;
}

/**
 * Names a device by `socket`, `discovery`, or `url` with `token`; default of `token`: MUSTER_TOKEN of this process.
 * `controlToken`: bearer token of the control API; default: MUSTER_CONTROL_TOKEN of `env`.
 */
export interface DeviceTargetOptions extends TargetOptions, TransportFields, Options<typeof controlFields> {
  /** Makes a further control once the device answers (`--control platform`). Throws ControlError. */
  attach?(device: HttpClient): Promise<Control>;
  placeholders?: Readonly<Record<string, string>>;
}

/** API keys default to the environment variables MUSTER_API_KEY and MUSTER_LIMITED_KEY. */
export interface PlatformTargetOptions extends TargetOptions, Options<typeof platformFields> {}

export type ClientTargetOptions = Options<typeof clientFields> &
  Pick<TargetOptions, 'redactor' | 'env' | 'startMs' | 'patienceMs' | 'notify' | 'signal'>;
