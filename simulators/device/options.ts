/** Options of a simulated device, their defaults and their limits. */
import type { Clock } from '../common/clock.ts';
import type { DeviceBehaviour } from './behaviour.ts';
import type { DeploymentPort, Uplink } from './ports.ts';

/** The subset of a pino logger that is used; secrets are never passed to it. */
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
}

export interface DeviceOptions {
  /** The robot's directory: event log, high-water mark, state, and below `root` the config files. Made when missing. */
  dir: string;
  /** Unix socket to serve on; `mode` is the permission of the file, default 0o660. */
  socket?: string | { path: string; mode?: number };
  /** Serve on 127.0.0.1 as well, or instead; `discovery` is the file that says where and with which token. */
  loopback?: { discovery: string };
  /** Events kept at most, default 2000; when exceeded, the log is compacted to 80 %. */
  retain?: number;
  /** Bytes kept at most, default unlimited. */
  retainBytes?: number;
  /** Milliseconds between heartbeats of a stream, default 30 000. */
  heartbeatMs?: number;
  /** `sync` (default): an event is on the disk before it is delivered; `os`: in the page cache, for load. */
  durability?: 'sync' | 'os';
  /** Serve the control API on a port of 127.0.0.1 (0: any free one) or on a unix socket. */
  control?: { port: number } | { path: string };
  /** Default: derived from the seed, or from `dir`. */
  deviceId?: string;
  name?: string;
  /** Default: the right one. */
  behaviour?: DeviceBehaviour;
  clock?: Clock;
  /** Drives ids, data and faults. Default: `dir`. */
  seed?: number | string;
  log?: Logger;
  /** Bytes a live subscriber may be behind before it is dropped, default 4 MiB. */
  subscriberBytes?: number;
  /** Makes the connection to a platform; called at each start. */
  uplink?: (port: DeploymentPort, identity: Identity) => Uplink;
}

export const DEFAULTS = {
  socketMode: 0o660,
  retain: 2_000,
  retainBytes: Number.MAX_SAFE_INTEGER,
  heartbeatMs: 30_000,
  subscriberBytes: 4_194_304,
} as const;
