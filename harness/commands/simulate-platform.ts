import process from 'node:process';
import { destination, pino } from 'pino';
import type { CommandModule } from 'yargs';
import { DIALECTS, type Dialect } from '../contract/versions.ts';
import { UsageError } from './errors.ts';
import { type SimulatePlatformArguments as Arguments, platformOptions } from './simulate-platform-options.ts';

/** Nothing logs these on purpose; if something ever does, they stay unsaid. */
const NAMES = ['key', 'api_key', 'token', 'password', 'authorization', 'public_key_pem', '["x-api-key"]'];
const SECRETS = NAMES.flatMap((name) =>
  name.startsWith('[') ? [name, `*${name}`, `*.*${name}`] : [name, `*.${name}`, `*.*.${name}`],
);

export const simulatePlatformCommand: CommandModule<object, Arguments> = {
  builder: (argv) =>
    argv
      .options({
        port: { type: 'number', default: 0, describe: 'Port on loopback; 0 takes any free one' },
        'api-key': {
          type: 'string',
          array: true,
          describe: 'KEY, or KEY=scope,scope… for a key of limited scope; repeat for more',
          defaultDescription: 'one generated key',
        },
        db: { type: 'string', describe: 'SQLite file that keeps the state', defaultDescription: 'in memory' },
        devices: { type: 'number', describe: 'Seed a workspace of that many devices, when there are none yet' },
        seed: { type: 'string', describe: 'Drives ids, the seeded workspace and faults' },
        'mqtt-port': { type: 'number', describe: 'Port of the embedded broker', defaultDescription: 'any free one' },
        mqtt: { type: 'string', describe: 'mqtt(s)://… of a broker to use in place of the embedded one; or none' },
        'tls-cert': { type: 'string', describe: 'Certificate (PEM): HTTP and the embedded broker speak TLS' },
        'tls-key': { type: 'string', describe: 'Its private key (PEM)' },
        dialect: { choices: DIALECTS, default: 'spec' as Dialect, describe: 'Names of headers and claims' },
        'min-key-bits': { type: 'number', describe: 'Smallest RSA key of a device', defaultDescription: '2048' },
        defect: { type: 'string', describe: 'Deviate in one named way (for testing a suite)' },
        variant: { type: 'string', describe: 'Take another legal choice where the specification is silent' },
        fault: {
          type: 'string',
          array: true,
          describe: 'latency=MS, 429, 5xx, reset or slow-body; each may end in @RATE',
        },
      })
      .epilogue(
        'Config schemas in CUE are stored and accepted, but content is not checked against them. A seeded device is never online: ' +
          'nothing is connected.',
      )
      .conflicts('mqtt', 'mqtt-port')
      .conflicts('defect', 'variant')
      .example('$0 simulate platform --port 8080 --devices 500 --seed 7', 'a workspace to develop against')
      .example(
        '$0 simulate platform --api-key admin --api-key viewer=devices:read,releases:read',
        'a second key that may only look',
      ) as never,
  handler: async (args) => {
    const { simulatePlatform } = await import('../../simulators/platform/index.ts');
    const level = process.env['LOG_LEVEL'] ?? 'info';
    const log = pino({ name: 'platform', level, redact: { paths: SECRETS, censor: '[secret]' } }, destination(2));
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
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return new UsageError(`--port: ${args.port} is in use (or --mqtt-port is)`);
  if (code === 'EACCES') return new UsageError(`--port: ${args.port} may not be bound`);
  if (code === 'ERR_SQLITE_ERROR') return new UsageError(`--db: ${args.db}: ${(error as Error).message}`);
  return error;
}
