import { resolve } from 'node:path';
import type { Dialect } from '../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import type { DeviceBehaviour } from './behaviour.ts';
import { DirectoryInUseError, KilledError } from './device-directory.ts';
import { dialectBehaviour } from './dialect.ts';
import { parseFault } from './faults.ts';
import { type DiskIo, errorCode } from './log/io.ts';
import type { DeploymentPort, Seen, Uplink } from './ports.ts';
import { type Endpoint, endpointsOf, type TransportOptions } from './transport.ts';

/** Logger with the methods of pino; the device logs no secrets. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Identity {
  deviceId: string;
  name: string;
  /** Directory of the robot, where an uplink may keep its keys. */
  directory: string;
  /** Operations on an uplink's files below `directory`; each change throws after a kill of the agent. */
  io?: DiskIo;
}

export interface DeviceOptions extends TransportOptions {
  /**
   * Directory of the robot's event log, state and config files (below `root`), created by the first write. A second
   * device in the directory causes DirectoryInUseError.
   */
  dir: string;
  endpoints?: readonly Endpoint[];
  /** Maximum number of stored events, default 2000; beyond, compaction keeps the newest 80 %. */
  retain?: number;
  /** Maximum bytes of the event log, default unlimited. */
  retainBytes?: number;
  /** Milliseconds between heartbeats of a stream, default 30 000, maximum one day. */
  heartbeatMs?: number;
  /** Storage of an event before delivery: `sync` (default) waits for the disk, `os` only for the page cache. */
  durability?: 'sync' | 'os';
  /**
   * Address of the control API: a port of 127.0.0.1 (0 picks a free port) or a unix socket. `token`: random by default.
   */
  control?: { port: number; token?: string } | { path: string };
  /** Default: derived from the seed. */
  deviceId?: string;
  /** Default: the device id. */
  name?: string;
  /** Wire conventions: `spec` (default) or published agents (`miru`); `behaviour` takes precedence. */
  dialect?: Dialect;
  /** Replaces the behaviour of the dialect, e.g. by a defect from `simulators/defects/device`. */
  behaviour?: DeviceBehaviour;
  /** Faults such as `latency=50ms`, with the names of `FAULTS`, default none. */
  faults?: readonly string[];
  /** Called when a fault crashes the agent; must end the agent before returning. Default: `kill()`. */
  onCrash?: () => void;
  clock?: Clock;
  /** Seed of random ids, data and faults, by default `dir`. */
  seed?: number | string;
  log?: Logger;
  /** Maximum bytes by which a live subscriber may lag, default 4 MiB; beyond, the agent ends the stream. */
  subscriberBytes?: number;
  /**
   * Milliseconds before the first retry of a deployment with unwritable files, default 15 000; doubles with each retry.
   */
  retryMs?: number;
  /** Milliseconds before the agent archives a deployment that the control API set to `failed`, default 100. */
  failedMs?: number;
  /** Receives the agent's events and streams, at most ten times a second. */
  watch?: (seen: Seen) => void;
  /** Creates the uplink, which connects the device to a platform; called at each start. */
  uplink?: (port: DeploymentPort, identity: Identity) => Uplink;
}

export type Settings = ReturnType<typeof completeOptions>;

/** Maximum milliseconds of a timer: one day, because Node's timers overflow after 24 days. */
const LONGEST_MS = 86_400_000;

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export function completeOptions(options: DeviceOptions) {
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

/** Failure to start because of the option `option`. */
export class StartError extends Error {
  override name = 'StartError';
  readonly code = 'MUSTER_START';
  readonly option: string;

  constructor(option: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

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

export function startErrorOf(option: string, error: unknown): Error {
  if (error instanceof DirectoryInUseError || error instanceof StartError || error instanceof TypeError) return error;
  const system = error as Record<'path' | 'dest' | 'address', string | undefined> & { port?: number };
  const { path, dest, address, port = -1 } = system;
  // For a unix socket, Node reports no port or the port -1.
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
