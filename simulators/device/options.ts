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

/** Methods of a pino logger in use. Secrets never reach it. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Identity {
  deviceId: string;
  name: string;
  /** The robot's own directory, where an uplink may keep its keys. */
  directory: string;
  /** Writes of an uplink there; its operations throw once the agent is killed. */
  io?: DiskIo;
}

export interface DeviceOptions extends TransportOptions {
  /**
   * Robot's directory: event log, high-water mark, state, and the config files below `root`. Created with the first
   * write. Reserved for one device at a time; a second one is refused with DirectoryInUseError.
   */
  dir: string;
  endpoints?: readonly Endpoint[];
  /** Most events kept, default 2000; compaction leaves 80 % of them. */
  retain?: number;
  /** Most bytes kept, default unlimited. */
  retainBytes?: number;
  /** Milliseconds between heartbeats of a stream, default 30 000, at most a day. */
  heartbeatMs?: number;
  /** Location of an event before delivery: `sync` (default) on the disk, `os` in the page cache, for load. */
  durability?: 'sync' | 'os';
  /**
   * Serves the control API on a port of 127.0.0.1 (0 picks a free one; default token: a new one) or on a unix socket.
   */
  control?: { port: number; token?: string } | { path: string };
  /** Default: derived from the seed. */
  deviceId?: string;
  /** Default: the device id. */
  name?: string;
  /** Choice where the specification leaves one, unless `behaviour` decides. Default: `spec`. */
  dialect?: Dialect;
  /** Default: of the dialect. Defects and variants: `simulators/defects/device`. */
  behaviour?: DeviceBehaviour;
  /** Faults by name, off by default; see `FAULTS`. */
  faults?: readonly string[];
  /** Called when a fault crashes the agent; must end it before returning. Default: `kill()`. */
  onCrash?: () => void;
  clock?: Clock;
  /** Drives ids, data and faults. Default: `dir`. */
  seed?: number | string;
  log?: Logger;
  /** Bytes that a live subscriber may lag before it is dropped, default 4 MiB. */
  subscriberBytes?: number;
  /** First delay before a deployment that the disk rejected is retried, milliseconds, default 15 000; doubles. */
  retryMs?: number;
  /**
   * Milliseconds that a deployment driven to `failed` keeps the requested state before it is archived and removed,
   * default 100.
   */
  failedMs?: number;
  /** Receives activity of the agent, at most ten times a second. */
  watch?: (seen: Seen) => void;
  /** Creates the uplink to a platform; called at each start. */
  uplink?: (port: DeploymentPort, identity: Identity) => Uplink;
}

export type Settings = ReturnType<typeof settle>;

/** A day in milliseconds; timers take at most 24 days. */
const LONGEST_MS = 86_400_000;

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Applies the defaults. Throws RangeError with the option and the accepted values. */
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

/** The address in `option` cannot be used; the message gives the reason. */
export class StartError extends Error {
  override name = 'StartError';
  readonly option: string;

  constructor(option: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

/** Returns the result of `use`. Rejects with a StartError for `option`, or with the KilledError of `use`. */
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

/** StartError for a system error; returns self-explanatory errors unchanged. */
export function startErrorOf(option: string, error: unknown): Error {
  if (error instanceof DirectoryInUseError || error instanceof StartError || error instanceof TypeError) return error;
  const {
    path,
    dest,
    address,
    port = -1,
  } = error as Record<'path' | 'dest' | 'address', string | undefined> & { port?: number };
  // A unix socket has port -1.
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
