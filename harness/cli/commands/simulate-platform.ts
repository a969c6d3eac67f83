import process from 'node:process';
import { destination, type Logger, pino } from 'pino';
import { isLoopback, LOOPBACK, urlHost } from '../../../simulators/platform/address.ts';
import type { PlatformOptions } from '../../../simulators/platform/index.ts';
import { defined } from '../../common/defined.ts';
import { EXIT, exitCodesText, UsageError, untilSignal, usage } from '../../common/usage.ts';
import { DIALECTS, NAMES_BY_DIALECT, NEWEST_VERSION } from '../../contract/versions.ts';
import { behaviourAsked, printsLists } from '../find-behaviour.ts';
import {
  command,
  consoleOptions,
  LOG_LEVELS,
  OPTION,
  type OptionsOf,
  type OptionTable,
  optionsIn,
  pairFrom,
  textFrom,
  uiPortOf,
} from '../options.ts';

const API = optionsIn('Platform API');
const AGENTS = optionsIn('Agents');
const WRONG = optionsIn('Deviations');

export const platformOptionTable = {
  port: API.port('Port; 0 takes any free one', { default: 0 }),
  host: API.text(
    'Address to listen on, for robots on other machines: 0.0.0.0 is every one; control and page stay on loopback',
    { default: LOOPBACK },
  ),
  'api-key': API.list('KEY, or KEY=scope,scope… to limit its scopes; can be repeated', {
    secret: 'MUSTER_API_KEY',
    defaultText: 'one generated key',
  }),
  db: API.file('SQLite file that keeps the state', { defaultText: 'in memory' }),
  devices: API.whole('Create this many devices in an empty workspace', { from: 0, to: 10_000_000 }),
  'seed-file': API.file('Create the workspace that this YAML file describes, in an empty one'),
  seed: API.text('Seed of ids, the workspace and faults'),
  control: API.port('Serve the control API on this port: reset, snapshots, planned answers, devices'),
  'control-token': API.file('File with the token of the control API; made if it is missing', {
    defaultText: 'a new token, in the ready line',
  }),
  dialect: API.oneOf(DIALECTS, 'Header and claim names', { default: 'spec' }),
  'tls-cert': API.file('Certificate (PEM): HTTP and the embedded broker speak TLS'),
  'tls-key': API.file('Its private key (PEM)'),
  'mqtt-port': AGENTS.port('Port of the embedded broker', { defaultText: 'any free one' }),
  mqtt: AGENTS.text('URL (mqtt or mqtts) of a broker to use instead of the embedded one; or none'),
  'min-key-bits': AGENTS.whole('Smallest RSA key accepted from a device', {
    from: 512,
    to: 16_384,
    defaultText: '2048',
  }),
  defect: WRONG.list('Plant known defects; list prints them'),
  variant: WRONG.list('Use conformant variants; list prints them'),
  fault: WRONG.list('latency=MS, 429, 5xx, reset or slow-body; each may end in @RATE'),
  ...consoleOptions,
  'log-level': OPTION.oneOf(LOG_LEVELS, 'Logs go to stderr as JSON lines', { default: 'info' }),
} as const satisfies OptionTable;

export type SimulatePlatformArguments = OptionsOf<typeof platformOptionTable>;

export async function platformOptions(args: SimulatePlatformArguments, log: Logger): Promise<PlatformOptions> {
  const { parseFaults } = await import('../../../simulators/platform/faults.ts');
  const { KeyRing, SCOPES } = await import('../../../simulators/platform/keys.ts');
  const { referenceBehaviour } = await import('../../../simulators/platform/reference.ts');
  const isUsual = args.defect === undefined && args.variant === undefined;
  const behaviour = isUsual ? undefined : behaviourAsked(args, await known(), referenceBehaviour);
  const tls = pairFrom('tls', args['tls-cert'], args['tls-key']);
  const uiPort = uiPortOf(args);
  const keys = args['api-key']?.map((text) => keyOf(text, SCOPES));
  usage('--api-key', () => new KeyRing(keys ?? []));
  const { port, dialect, db, devices, seed, 'seed-file': seedFile, 'min-key-bits': minKeyBits, fault } = args;
  const isOpen = behaviour !== undefined && behaviour.authenticate !== referenceBehaviour.authenticate;
  const host = hostOf(args, isOpen);
  if (seedFile !== undefined && devices !== undefined)
    throw new UsageError('--seed-file and --devices: give one; each makes a whole workspace');
  return {
    port,
    host,
    dialect,
    log,
    ...defined({
      keys,
      db,
      devices,
      seed,
      seedFile: seedFile === undefined ? undefined : textFrom('seed-file', seedFile),
      control: await controlOf(args),
      ui: uiPort === undefined ? undefined : { port: uiPort },
      mqtt: mqttOf(args),
      tls,
      minKeyBits,
      behaviour,
      faults: fault && usage('--fault', () => Object.assign({}, ...fault.map(parseFaults))),
    }),
  };
}

/** Throws UsageError for a wrong address, or one beyond loopback if requests may be served without a key (`isOpen`). */
function hostOf({ host }: SimulatePlatformArguments, isOpen: boolean): string {
  if (urlHost(host) === undefined)
    throw new UsageError(
      `--host: '${host}' is not accepted; accepted: an address or a name of this machine, e.g. 0.0.0.0 or ${LOOPBACK}`,
    );
  if (isLoopback(host) || !isOpen) return host;
  throw new UsageError(
    `--host: ${host} needs keys, and --defect makes the platform serve requests without a valid one; ` +
      `accepted: ${LOOPBACK}`,
  );
}

async function controlOf({
  control: port,
  'control-token': file,
}: SimulatePlatformArguments): Promise<PlatformOptions['control']> {
  if (port === undefined && file !== undefined) throw new UsageError('--control-token: needs --control PORT');
  if (port === undefined || file === undefined) return port === undefined ? undefined : { port };
  const { controlTokenIn } = await import('../../../simulators/common/control-guard.ts');
  return { port, token: usage('--control-token', () => controlTokenIn(file)) };
}

/** Splits `KEY=SCOPES` at the last `=`, even before a misspelt scope, which would limit nothing in the key. */
function keyOf(text: string, known: readonly string[]): { key: string; scopes: readonly string[] | 'all' } {
  const mark = text.lastIndexOf('=');
  const scopes = text.slice(mark + 1).split(',');
  const resource = scopes[0]?.split(':')[0] ?? '';
  const scoped = mark !== -1 && (scopes[0]?.includes(':') || known.some((scope) => scope.startsWith(`${resource}:`)));
  const key = scoped ? text.slice(0, mark) : text;
  if (key === '' || mark === 0) throw new UsageError('--api-key: accepted are KEY and KEY=scope,scope…');
  return { key, scopes: scoped ? scopes : 'all' };
}

function mqttOf(args: SimulatePlatformArguments): PlatformOptions['mqtt'] {
  if (args['mqtt-port'] !== undefined && args.mqtt !== undefined)
    throw new UsageError(
      '--mqtt and --mqtt-port: give one; --mqtt-port is for the embedded broker, --mqtt for another',
    );
  if (args['mqtt-port'] !== undefined) return { port: args['mqtt-port'] };
  if (args.mqtt === undefined) return undefined;
  if (args.mqtt === 'none') return false;
  if (!/^mqtts?:\/\/[^/]/.test(args.mqtt))
    throw new UsageError('--mqtt: accepted are mqtt://HOST, mqtts://HOST and none');
  return { url: args.mqtt };
}

async function known() {
  const { platformDefects, platformVariants } = await import('../../../simulators/defects/platform/index.ts');
  return { simulator: 'platform', defects: platformDefects, variants: platformVariants } as const;
}

const SECRETS = ['key', 'api_key', 'token', 'password', 'authorization', 'public_key_pem', '["x-api-key"]'].flatMap(
  (name) => (name.startsWith('[') ? [name, `*${name}`, `*.*${name}`] : [name, `*.${name}`, `*.*.${name}`]),
);

export const simulatePlatformCommand = command({
  options: platformOptionTable,
  examples: [
    ['muster simulate platform --devices 500 --seed 7', 'a workspace to develop against'],
    ['muster simulate platform --seed-file fixtures/workspaces/warehouse.yaml', 'a workspace of your own'],
    ['muster simulate platform --devices 30 --seed 7 --control 8081', 'one that tests reset between them'],
    ['muster simulate platform --devices 30 --ui', 'with a page to watch and drive it'],
    ['muster simulate platform --host 0.0.0.0 --port 8080 --mqtt-port 1883', 'for robots on other machines'],
    ['muster simulate platform --api-key a --api-key b=devices:read', 'a second key that may only read devices'],
  ],
  epilogue:
    'When it is ready it writes one line of JSON to stdout: url is the base of the Platform API, api_key the ' +
    'key when none was given. With --host 0.0.0.0 or :: they name an address of this machine that others can ' +
    `reach. Every request carries X-API-Key and the version, e.g. ${NAMES_BY_DIALECT.spec.versionHeader}: ` +
    `${NEWEST_VERSION}; what a version has is at URL/openapi/VERSION.json. Content is not checked against ` +
    'config schemas in CUE. Devices of --devices are never online, because nothing is connected; a seed file can ' +
    `make some online without an agent.\n\nExit codes: ${exitCodesText('simulate')}.`,
  async run(args) {
    const isAsked = args.defect !== undefined || args.variant !== undefined;
    if (isAsked && printsLists(args, await known())) return EXIT.conformant;
    const ended = untilSignal();
    const { simulatePlatform } = await import('../../../simulators/platform/index.ts');
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
      ...defined({
        mqtt: platform.mqttUrl,
        control: platform.controlUrl,
        control_token: options.control && options.control.token === undefined ? platform.controlToken : undefined,
        ui: platform.uiUrl,
        api_key: options.keys === undefined ? platform.apiKey : undefined,
      }),
    };
    process.stdout.write(`${JSON.stringify(ready)}\n`);
    log.info({ url: platform.url, mqtt: platform.mqttUrl }, 'platform is up');
    const { code } = await ended;
    await platform.stop();
    log.info('platform is down');
    return code;
  },
});

function startProblem(error: unknown, args: SimulatePlatformArguments): unknown {
  const { code, message, name, port } = error as NodeJS.ErrnoException & { port?: number };
  const named = (['mqtt-port', 'control', 'ui-port'] as const).find(
    (name) => port !== undefined && port === args[name],
  );
  const option = `--${named ?? 'port'}`;
  if (code === 'EADDRINUSE') return new UsageError(`${option}: ${port} is in use`);
  if (code === 'EACCES') return new UsageError(`${option}: ${port} may not be bound`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new UsageError(`--host: ${args.host} is no address of this machine`);
  if (code?.startsWith('ERR_OSSL')) return new UsageError(`--tls-cert, --tls-key: cannot be used: ${message}`);
  if (name === 'DatabaseError') return new UsageError(`--db: ${message}`);
  if (name === 'SeedError') return new UsageError(`--seed-file ${args['seed-file']}: ${message}`);
  if (name === 'BrokerError') return new UsageError(`--mqtt: ${message}`);
  return error;
}
