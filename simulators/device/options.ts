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

/** The methods of a pino logger that are used. Secrets are never passed to it. */
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
  /** How an uplink writes there; its operations throw once the agent is killed. */
  io?: DiskIo;
}

export interface DeviceOptions extends TransportOptions {
  /**
   * The robot's directory: event log, high-water mark, state, and below `root` the config files. A missing one is made
   * with the first thing to write. One device at a time may use it; another one is refused with DirectoryInUseError.
   */
  dir: string;
  /** Endpoints of other transports, to serve on as well. */
  endpoints?: readonly Endpoint[];
  /** Events kept at most, default 2000; the log is compacted to 80 % of it when there are more. */
  retain?: number;
  /** Bytes kept at most, default unlimited. */
  retainBytes?: number;
  /** Milliseconds between heartbeats of a stream, default 30 000, at most a day. */
  heartbeatMs?: number;
  /** Where an event is before it is delivered: `sync` (default) on the disk, `os` in the page cache, for load. */
  durability?: 'sync' | 'os';
  /** Serve the control API on a port of 127.0.0.1 (0: any free one; default token: a new one) or on a unix socket. */
  control?: { port: number; token?: string } | { path: string };
  /** Default: derived from the seed. */
  deviceId?: string;
  /** Default: the device id. */
  name?: string;
  /** How it answers where the specification leaves that open, unless `behaviour` says so. Default: `spec`. */
  dialect?: Dialect;
  /** Default: the one of the dialect. Defects and variants: `simulators/defects/device`. */
  behaviour?: DeviceBehaviour;
  /** Faults by name, off by default; see `FAULTS`. */
  faults?: readonly string[];
  /** Called when a fault crashes the agent; must end it before it returns. Default: `kill()`. */
  onCrash?: () => void;
  clock?: Clock;
  /** Drives ids, data and faults. Default: `dir`. */
  seed?: number | string;
  log?: Logger;
  /** Bytes a live subscriber may be behind before it is dropped, default 4 MiB. */
  subscriberBytes?: number;
  /** First delay before a deployment that the disk did not take is tried again, default 15 000; it doubles. */
  retryMs?: number;
  /**
   * How long a deployment driven to `failed` stays in the state asked for before it is archived and removed, default
   * 100.
   */
  failedMs?: number;
  /** Is told what happens in the agent, ten times a second at most. */
  watch?: (seen: Seen) => void;
  /** Makes the uplink to a platform; called at each start. */
  uplink?: (port: DeploymentPort, identity: Identity) => Uplink;
}

/** Options with all defaults applied. */
export type Settings = ReturnType<typeof settle>;

/** A day in milliseconds. Timers take no more than 24 days. */
const LONGEST_MS = 86_400_000;

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Applies the defaults. Throws RangeError naming the option and what is accepted. */
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

// Why a device does not start: something that an option names cannot be used.

/** Name of the option: `dir`, `control`, or the one with the address of a transport (`socket`, `discovery`). */
export type PlaceOption = string;

/** What `option` names cannot be used; the message says why. */
export class StartError extends Error {
  override name = 'StartError';
  readonly option: PlaceOption;

  constructor(option: PlaceOption, message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

/** Passes on the result of `use`. Rejects with a StartError that names `option`, or with the KilledError of `use`. */
export async function asStartError<T>(option: PlaceOption, use: Promise<T>): Promise<T> {
  try {
    return await use;
  } catch (error) {
    throw error instanceof KilledError ? error : startErrorOf(option, error);
  }
}

/** The option that an error is about, undefined when it is about none. */
export function optionOf(error: unknown): PlaceOption | undefined {
  if (error instanceof DirectoryInUseError) return 'dir';
  return error instanceof StartError ? error.option : undefined;
}

/** The StartError for an error of the system; errors that explain themselves are given back as they are. */
export function startErrorOf(option: PlaceOption, error: unknown): Error {
  if (error instanceof DirectoryInUseError || error instanceof StartError || error instanceof TypeError) return error;
  const {
    path,
    dest,
    address,
    port = -1,
  } = error as Record<'path' | 'dest' | 'address', string | undefined> & { port?: number };
  // A unix socket has the port -1.
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
