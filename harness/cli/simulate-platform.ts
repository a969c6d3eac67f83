import process from 'node:process';
import { destination, pino } from 'pino';
import type { CommandModule, Options } from 'yargs';
import { UsageError } from '../common/usage-error.ts';
import { DIALECT_NAMES, DIALECTS, type Dialect, NEWEST_VERSION } from '../contract/versions.ts';
import { type SimulatePlatformArguments as Arguments, platformOptions } from './simulate-platform-options.ts';

/** Nothing logs these on purpose; if something ever does, they stay unsaid. */
const NAMES = ['key', 'api_key', 'token', 'password', 'authorization', 'public_key_pem', '["x-api-key"]'];
const SECRETS = NAMES.flatMap((name) =>
  name.startsWith('[') ? [name, `*${name}`, `*.*${name}`] : [name, `*.${name}`, `*.*.${name}`],
);

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const API = 'Platform API:';
const AGENTS = 'Agents:';
const WRONG = 'Wrong:';
const OPTIONS = {
  port: { type: 'number', default: 0, describe: 'Port on loopback; 0 takes any free one', group: API },
  'api-key': {
    type: 'string',
    array: true,
    describe: 'KEY, or KEY=scope,scope… for a key of limited scope; repeat for more',
    defaultDescription: 'one generated key',
    group: API,
  },
  db: { type: 'string', describe: 'SQLite file that keeps the state', defaultDescription: 'in memory', group: API },
  devices: { type: 'number', describe: 'Seed a workspace of that many devices, when there are none yet', group: API },
  seed: { type: 'string', describe: 'Drives ids, the seeded workspace and faults', group: API },
  dialect: { choices: DIALECTS, default: 'spec' as Dialect, describe: 'Names of headers and claims', group: API },
  'tls-cert': { type: 'string', describe: 'Certificate (PEM): HTTP and the embedded broker speak TLS', group: API },
  'tls-key': { type: 'string', describe: 'Its private key (PEM)', group: API },
  'mqtt-port': {
    type: 'number',
    describe: 'Port of the embedded broker',
    defaultDescription: 'any free one',
    group: AGENTS,
  },
  mqtt: {
    type: 'string',
    describe: 'mqtt(s)://… of a broker to use in place of the embedded one; or none',
    group: AGENTS,
  },
  'min-key-bits': {
    type: 'number',
    describe: 'Smallest RSA key of a device',
    defaultDescription: '2048',
    group: AGENTS,
  },
  defect: { type: 'string', describe: 'Be wrong in a known way; a wrong name lists them all', group: WRONG },
  variant: { type: 'string', describe: 'Make another legal choice; a wrong name lists them all', group: WRONG },
  fault: {
    type: 'string',
    array: true,
    describe: 'latency=MS, 429, 5xx, reset or slow-body; each may end in @RATE',
    group: WRONG,
  },
  'log-level': { choices: LOG_LEVELS, default: 'info', describe: 'Logs go to stderr as JSON lines' },
} as const satisfies Record<string, Options>;

export const simulatePlatformCommand: CommandModule<object, Arguments> = {
  builder: (argv) =>
    argv
      .options(OPTIONS)
      .requiresArg(Object.keys(OPTIONS))
      .epilogue(
        `Ready is one line of JSON on stdout: url is the base of the Platform API, api_key the key where none was given. Every request carries X-API-Key and the version, e.g. ${DIALECT_NAMES.spec.versionHeader}: ${NEWEST_VERSION}; what a version has is at URL/openapi/VERSION.json. Content is not checked against config schemas in CUE. Seeded devices are never online: nothing is connected.`,
      )
      .example('$0 simulate platform --devices 500 --seed 7', 'a workspace to develop against')
      .example('$0 simulate platform --api-key a --api-key b=devices:read', 'a second key that may only look') as never,
  handler: async (args) => {
    const { simulatePlatform } = await import('../../simulators/platform/index.ts');
    const log = pino(
      { name: 'platform', level: args['log-level'], redact: { paths: SECRETS, censor: '[secret]' } },
      destination(2),
    );
    const options = await platformOptions(args, log);
    const platform = await simulatePlatform(options).catch((error: unknown) => {
      throw startProblem(error, args);
    });
    const ready = {
      ready: true,
      url: platform.url,
      agent_url: platform.agentUrl,
      ...(platform.mqttUrl !== undefined && { mqtt: platform.mqttUrl }),
      // A key that the user chose is known to the user; a generated one is known to nobody else.
      ...(options.keys === undefined && { api_key: platform.apiKey }),
    };
    process.stdout.write(`${JSON.stringify(ready)}\n`);
    log.info({ url: platform.url, mqtt: platform.mqttUrl }, 'platform is up');
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
    });
    await platform.stop();
    log.info('platform is down');
  },
};

function startProblem(error: unknown, args: Arguments): unknown {
  const { code, message, name, port } = error as NodeJS.ErrnoException & { port?: number };
  const option = port !== undefined && port === args['mqtt-port'] ? '--mqtt-port' : '--port';
  if (code === 'EADDRINUSE') return new UsageError(`${option}: ${port} is in use`);
  if (code === 'EACCES') return new UsageError(`${option}: ${port} may not be bound`);
  if (code?.startsWith('ERR_OSSL')) return new UsageError(`--tls-cert, --tls-key: cannot be used: ${message}`);
  if (name === 'DatabaseError') return new UsageError(`--db: ${message}`);
  if (name === 'BrokerError') return new UsageError(`--mqtt: ${message}`);
  return error;
}
