/** Shape of a target file. Published as `fixtures/schemas/target.schema.json`. */
import Type, { type Static, type TOptional, type TString } from 'typebox';
import { CAPABILITIES } from '../contract/capabilities.ts';
import { oneOf, shape } from '../contract/shape.ts';
import { DIALECTS, SUPPORTED_VERSIONS } from '../contract/versions.ts';
import { fieldsOf, TRANSPORTS, type TransportFieldName } from './transports/index.ts';
import type { Transport } from './transports/transport.ts';

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const closed = { additionalProperties: false };

const image = Type.Object(
  {
    name: Type.String({ minLength: 1, description: 'Image reference, e.g. registry.example/agent:1.3' }),
    socket: text(
      'Path of the agent’s socket inside the container; its folder is mounted. Default /run/muster/agent.sock',
    ),
    control: text('Path of a control socket inside the container, in the same folder'),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port to map, instead of a socket' })),
    args: Type.Optional(Type.Array(Type.String(), { description: 'Arguments in place of the image’s own' })),
    env: Type.Optional(Type.Record(Type.String(), Type.String())),
    user: text('User (uid:gid) inside the container; `host` is the user who runs Muster'),
  },
  closed,
);

const started = {
  command: text('Shell line that starts it; it is ended with all its children'),
  cwd: text('Folder in which the command runs. Default: the folder of this file'),
  image: Type.Optional(Type.Union([Type.String({ minLength: 1 }), image])),
  start_seconds: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'Seconds within which it must serve' }),
  ),
  ca: text('PEM file of certificate authorities to trust besides the system’s'),
};

const control = {
  http: text('Address of a control API: URL, port or socket path'),
  drive: text('Shell line; $MUSTER_ACTION is deploy, remove or publish, the request is on stdin, the answer on stdout'),
  compact: text('Shell line that compacts the event log and prints {"earliest_id","latest_id"}'),
  compact_restarts: Type.Optional(
    Type.Boolean({ description: '`compact` restarts the agent, so that its event streams end' }),
  ),
  fill: text('Shell line, run while the agent is stopped, that fills its event log: the next event makes it compact'),
  stop: text('Shell line that stops the agent; $MUSTER_SIGNAL is SIGTERM or SIGKILL'),
  start: text('Shell line that starts the agent and ends when it serves'),
  retention: Type.Optional(Type.Integer({ minimum: 1, description: 'Events the log keeps at most' })),
  heartbeat_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400 })),
  event_log: text('Path of the JSONL event log'),
  config_root: text('Folder below which config files are written'),
  platform: Type.Optional(
    Type.Object(
      {
        dialect: Type.Optional(oneOf(DIALECTS)),
        port: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port of the platform. Default: a free one' }),
        ),
        mqtt_port: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port of its broker. Default: a free one' }),
        ),
        tls: Type.Optional(
          Type.Boolean({ description: 'Both over TLS, by an authority made for the run: {ca}, $MUSTER_CA_FILE' }),
        ),
        sync_path: Type.Optional(
          Type.String({
            pattern: '^/',
            description: 'Path of the Device API that, posted to, makes the agent ask the platform at once',
          }),
        ),
      },
      { ...closed, description: 'What the platform is like that the agent enrols in with --control platform' },
    ),
  ),
};

const platform = {
  url: text('{base_url}'),
  api_key: text('API key; `$` and a name in braces takes it from the environment'),
  limited_key: text('API key without devices:read'),
  dialect: Type.Optional(oneOf(DIALECTS)),
  api_version: Type.Optional(oneOf(SUPPORTED_VERSIONS)),
  online_device: text('Id of a device that answers a ping'),
  offline_device: text('Id of a device that does not answer a ping'),
  read_only: Type.Optional(Type.Boolean({ description: 'Never write to this platform' })),
};

/** The shape of a target file whose device may be reached by these transports. */
export const targetFileOf = (transports: readonly Transport[]) =>
  shape(
    'target file',
    Type.Object(
      {
        $schema: Type.Optional(Type.String()),
        extends: Type.Optional(
          Type.Union([Type.String(), Type.Array(Type.String())], {
            description: 'Other target files, relative to this one; the fields of this file win over theirs',
          }),
        ),
        name: text('Name of the implementation under test, as a certificate shows it'),
        version: text('Version of the implementation under test'),
        artifact: text('File that you name as the implementation under test; a certificate has its SHA-256'),
        device: Type.Optional(Type.Object({ ...transportFields(transports), ...started }, closed)),
        control: Type.Optional(Type.Object(control, closed)),
        platform: Type.Optional(Type.Object({ ...platform, ...started }, closed)),
        capabilities: Type.Optional(
          Type.Array(oneOf(CAPABILITIES), { description: 'Declared beside those that are detected' }),
        ),
      },
      {
        ...closed,
        title: 'Muster target',
        description: 'The implementation under test: how it is reached and how it is driven',
      },
    ),
  );

function transportFields(transports: readonly Transport[]): Record<TransportFieldName, TOptional<TString>> {
  const fields = Object.entries(fieldsOf(transports)).map(([name, { description }]) => [name, text(description)]);
  return Object.fromEntries(fields);
}

/** The shape of a target file, with Muster's own transports. */
export const targetFile = targetFileOf(TRANSPORTS);
export type TargetFile = Static<typeof targetFile.schema>;
