/** The options of `simulate platform`, read into those of the simulator. */
import type { Logger } from 'pino';
import type { PlatformOptions } from '../../simulators/platform/index.ts';
import { readInputText } from '../common/read-input.ts';
import { UsageError } from '../common/usage-error.ts';
import type { Dialect } from '../contract/versions.ts';
import { planted } from './planted.ts';

export interface SimulatePlatformArguments {
  port: number;
  'api-key'?: string[];
  db?: string;
  devices?: number;
  seed?: string;
  'mqtt-port'?: number;
  mqtt?: string;
  'tls-cert'?: string;
  'tls-key'?: string;
  dialect: Dialect;
  'min-key-bits'?: number;
  defect?: string;
  variant?: string;
  fault?: string[];
  'log-level': string;
}

type Arguments = SimulatePlatformArguments;

/** Throws UsageError, which names the option and what is accepted. */
export async function platformOptions(args: Arguments, log: Logger): Promise<PlatformOptions> {
  const { parseFaults } = await import('../../simulators/platform/faults.ts');
  const { KeyRing, SCOPES } = await import('../../simulators/platform/keys.ts');
  const behaviour = await behaviourOf(args);
  const tls = tlsOf(args);
  const keys = args['api-key']?.map((text) => keyOf(text, SCOPES));
  usage('--api-key', () => new KeyRing(keys ?? []));
  if (args.db === '') throw new UsageError('--db: accepted is the path of a file');
  return {
    port: wholeNumber('--port', args.port, 0, 65_535),
    dialect: args.dialect,
    log,
    ...(keys && { keys }),
    ...(args.db !== undefined && { db: args.db }),
    ...(args.devices !== undefined && { devices: wholeNumber('--devices', args.devices, 0, 10_000_000) }),
    ...(args.seed !== undefined && { seed: args.seed }),
    ...mqttOf(args),
    ...(tls && { tls }),
    ...(args['min-key-bits'] !== undefined && {
      minKeyBits: wholeNumber('--min-key-bits', args['min-key-bits'], 512, 16_384),
    }),
    ...(behaviour && { behaviour }),
    ...(args.fault && {
      faults: usage('--fault', () => Object.assign({}, ...(args.fault ?? []).map(parseFaults))),
    }),
  };
}

/**
 * The key itself may contain `=`: scopes are what follows the last one, where that begins with the name of a resource that has any.
 * A wrong scope is then an error, and no part of a key that may do everything.
 */
function keyOf(text: string, known: readonly string[]): { key: string; scopes: readonly string[] | 'all' } {
  const mark = text.lastIndexOf('=');
  const scopes = text.slice(mark + 1).split(',');
  const resource = scopes[0]?.split(':')[0] ?? '';
  const scoped = mark !== -1 && (scopes[0]?.includes(':') || known.some((scope) => scope.startsWith(`${resource}:`)));
  const key = scoped ? text.slice(0, mark) : text;
  if (key === '' || mark === 0) throw new UsageError('--api-key: accepted are KEY and KEY=scope,scope…');
  return { key, scopes: scoped ? scopes : 'all' };
}

function mqttOf(args: Arguments): Pick<PlatformOptions, 'mqtt'> {
  if (args['mqtt-port'] !== undefined && args.mqtt !== undefined)
    throw new UsageError(
      '--mqtt and --mqtt-port: the embedded broker has a port, one elsewhere has an address; give one',
    );
  if (args['mqtt-port'] !== undefined)
    return { mqtt: { port: wholeNumber('--mqtt-port', args['mqtt-port'], 0, 65_535) } };
  if (args.mqtt === undefined) return {};
  if (args.mqtt === 'none') return { mqtt: false };
  if (!/^mqtts?:\/\/[^/]/.test(args.mqtt))
    throw new UsageError('--mqtt: accepted are mqtt://HOST, mqtts://HOST and none');
  return { mqtt: { url: args.mqtt } };
}

function tlsOf({ 'tls-cert': cert, 'tls-key': key }: Arguments): { cert: string; key: string } | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw new UsageError('--tls-cert and --tls-key: give both, or neither');
  return { cert: readable('--tls-cert', cert), key: readable('--tls-key', key) };
}

function readable(option: string, path: string): string {
  return usage(option, () => readInputText(path));
}

async function behaviourOf({ defect, variant }: Arguments): Promise<PlatformOptions['behaviour']> {
  if (defect !== undefined && variant !== undefined) throw new UsageError('--defect and --variant: give one');
  const { referenceBehaviour } = await import('../../simulators/platform/reference.ts');
  if (defect !== undefined) {
    const { platformDefects } = await import('../../simulators/defects/platform/index.ts');
    return planted('--defect', defect, platformDefects).behaviour(referenceBehaviour);
  }
  if (variant !== undefined) {
    const { platformVariants } = await import('../../simulators/defects/platform/index.ts');
    return planted('--variant', variant, platformVariants).behaviour(referenceBehaviour);
  }
  return undefined;
}

/** What a parser refuses is wrong use of the option. */
function usage<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`${option}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function wholeNumber(option: string, value: number, low: number, high: number): number {
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  throw new UsageError(`${option}: accepted are whole numbers from ${low} to ${high}`);
}
