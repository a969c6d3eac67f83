import process from 'node:process';
import { destination, pino } from 'pino';
import { EXIT, UsageError } from '../../common/exit-codes.ts';
import { DIALECT_NAMES, NEWEST_VERSION } from '../../contract/versions.ts';
import { command } from '../options.ts';
import {
  type SimulatePlatformArguments as Arguments,
  platformOptions,
  platformOptionTable,
} from '../simulate-platform-options.ts';

/** Nothing logs these on purpose; should something ever do so, they are masked. */
const NAMES = ['key', 'api_key', 'token', 'password', 'authorization', 'public_key_pem', '["x-api-key"]'];
const SECRETS = NAMES.flatMap((name) =>
  name.startsWith('[') ? [name, `*${name}`, `*.*${name}`] : [name, `*.${name}`, `*.*.${name}`],
);

export const simulatePlatformCommand = command({
  options: platformOptionTable,
  examples: [
    ['muster simulate platform --devices 500 --seed 7', 'a workspace to develop against'],
    ['muster simulate platform --api-key a --api-key b=devices:read', 'a second key that may only read devices'],
  ],
  epilogue: `When it is ready it writes one line of JSON to stdout: url is the base of the Platform API, api_key the key when none was given. Every request carries X-API-Key and the version, e.g. ${DIALECT_NAMES.spec.versionHeader}: ${NEWEST_VERSION}; what a version has is at URL/openapi/VERSION.json. Content is not checked against config schemas in CUE. Seeded devices are never online, because nothing is connected.`,
  async run(args) {
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
    return EXIT.conformant;
  },
});

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
