/** Options of a simulated device, their defaults and their limits. */

import { resolve } from 'node:path';
import type { Dialect } from '../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import type { DeviceBehaviour } from './behaviour.ts';
import { DirectoryInUseError, KilledError } from './device-directory.ts';
import { dialectBehaviour } from './dialect.ts';
import { parseFault } from './faults.ts';
import { type DiskIo, errorCode } from './log/io.ts';
import type { DeploymentPort, Uplink } from './ports.ts';
import type { Seen } from './seen.ts';
import { type Endpoint, endpointsOf, type TransportOptions } from './transport.ts';

/** Methods of a pino logger, which receives no secrets. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Identity {
  deviceId: string;
  name: string;
  /** Robot's directory, where an uplink may keep its keys. */
  directory: string;
  /** Writes of an uplink to this directory; they throw once the agent is killed. */
  io?: DiskIo;
}

export interface DeviceOptions extends TransportOptions {
  /**
   * Robot's directory, for event log, high-water mark, state, and the config files below `root`. The first write
   * creates it. A second device on the same directory is refused with DirectoryInUseError.
   */
  dir: string;
  endpoints?: readonly Endpoint[];
  /** Most events kept, default 2000; compaction leaves 80 % of them. */
  retain?: number;
  /** Most bytes kept, default unlimited. */
  retainBytes?: number;
  /** Milliseconds between heartbeats of a stream, default 30 000, at most a day. */
  heartbeatMs?: number;
  /** Place of an event before its delivery: `sync` (default) on the disk, `os` in the page cache, for load. */
  durability?: 'sync' | 'os';
  /** Control API on a port of 127.0.0.1 or a unix socket. Port 0 picks a free one; `token` defaults to a new one. */
  control?: { port: number; token?: string } | { path: string };
  /** Default: derived from the seed. */
  deviceId?: string;
  /** Default: the device id. */
  name?: string;
  /** Choices where the specification leaves them, unless `behaviour` decides. Default: `spec`. */
  dialect?: Dialect;
  /** Default: that of the dialect. Defects and variants: `simulators/defects/device`. */
  behaviour?: DeviceBehaviour;
  /** Faults by name (`FAULTS`). Default: none. */
  faults?: readonly string[];
  /** Must end the agent, crashed by a fault, before returning. Default: `kill()`. */
  onCrash?: () => void;
  clock?: Clock;
  /** Seed of ids, data and faults. Default: `dir`. */
  seed?: number | string;
  log?: Logger;
  /** Bytes by which a live subscriber may lag before the agent drops it, default 4 MiB. */
  subscriberBytes?: number;
  /** Milliseconds before the first retry of a deployment that the disk rejected, default 15 000; doubles. */
  retryMs?: number;
  /**
   * Milliseconds in which a deployment driven to `failed` keeps the requested state, before the agent archives and
   * removes it. Default 100.
   */
  failedMs?: number;
  /** Takes activity of the agent, at most ten times a second. */
  watch?: (seen: Seen) => void;
  /** Creates the uplink to a platform, at each start. */
  uplink?: (port: DeploymentPort, identity: Identity) => Uplink;
}

export type Settings = ReturnType<typeof settle>;

/** A day in milliseconds, because timers take 24 days. */
const LONGEST_MS = 86_400_000;

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Applies the defaults. Throws RangeError with the option and its accepted values. */
export function settle(options: DeviceOptions) {
  const dir = resolve(options.dir);
  const behaviour = options.behaviour ?? dialectBehaviour(options.dialect ?? 'spec');
  return {
    dir,
    endpoints: [...endpointsOf(options), ...(options.endpoints ?? [])],
    retain: behaviour.log.retain(within('retain', options.retain ?? 2_000, 1)),
    retainBytes: within('retainBytes', options.retainBytes ?? Number.MAX_SAFE_INTEGER, 1),
    heartbeatMs: within('heartbeatMs', options.heartbeatMs ?? 30_000, 1, LONGEST_MS),
    durability: options.durability ?? 'sync',
    behaviour,
    faults: (options.faults ?? []).map(parseFault),
    clock: options.clock ?? systemClock,
    seed: options.seed ?? dir,
    log: options.log ?? silent,
    subscriberBytes: within('subscriberBytes', options.subscriberBytes ?? 4_194_304, 0),
    retryMs: within('retryMs', options.retryMs ?? 15_000, 0, LONGEST_MS),
    failedMs: within('failedMs', options.failedMs ?? 100, 0, LONGEST_MS),
    deviceId: options.deviceId,
    name: options.name,
    uplink: options.uplink,
    watch: options.watch,
  };
}

function within(name: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): number {
  if (value >= least && value <= most) return value;
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`;
  throw new RangeError(`${name} must be a number from ${least}${upTo}, not ${value}`);
}

/** Unusable address in `option`; the message gives the reason. */
export class StartError extends Error {
  override name = 'StartError';
  readonly option: string;

  constructor(option: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

/** Rejects with a StartError for `option` in place of an error of `use`, except its KilledError. */
export async function asStartError<T>(option: string, use: Promise<T>): Promise<T> {
  try {
    return await use;
  } catch (error) {
    throw error instanceof KilledError ? error : startErrorOf(option, error);
  }
}

export function optionOf(error: unknown): string | undefined {
  if (error instanceof DirectoryInUseError) return 'dir';
  return error instanceof StartError ? error.option : undefined;
}

/** Turns a system error into a StartError; returns self-explanatory errors unchanged. */
export function startErrorOf(option: string, error: unknown): Error {
  if (error instanceof DirectoryInUseError || error instanceof StartError || error instanceof TypeError) return error;
  const {
    path,
    dest,
    address,
    port = -1,
  } = error as Record<'path' | 'dest' | 'address', string | undefined> & { port?: number };
  // Names the path of a unix socket, whose port is -1.
  const place = port < 0 ? (dest ?? path ?? address ?? 'it') : `port ${port}`;
  const code = errorCode(error) ?? '';
  const words: Record<string, string> = {
    EADDRINUSE: `${place} is in use; name another`,
    EEXIST: `${place} is a file, and must be a directory`,
    ENOTDIR: `${place} is no directory, or lies below a file`,
    EISDIR: `${place} is a directory`,
    EACCES: `no permission for ${place}`,
    EPERM: `no permission for ${place}`,
    EROFS: `${place} lies on a file system that is read-only`,
    ENOSPC: `the disk has no room for ${place}`,
  };
  const message = error instanceof Error ? error.message : String(error);
  const explained = words[code];
  return new StartError(option, explained === undefined ? message : `${explained} (${code})`, { cause: error });
}
