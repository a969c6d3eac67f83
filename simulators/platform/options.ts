import type { Logger } from 'pino';
import type { Dialect } from '../../harness/contract/versions.ts';
import type { Clock } from '../common/clock.ts';
import type { PlatformBehaviour } from './behaviour.ts';
import type { CheckLimits } from './checking/pool.ts';
import type { PlatformFaults } from './faults.ts';
import type { KeyOption } from './keys.ts';

export interface PlatformOptions {
  /**
   * Address that the Platform API, the agent API and the embedded broker listen on. Default loopback. The control API and the page stay
   * on loopback.
   */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Default: one generated key with every scope. */
  keys?: readonly KeyOption[];
  /** SQLite file; default `:memory:`. */
  db?: string;
  /** Seeds a workspace of that many devices, unless the database already holds some. */
  devices?: number;
  /** Text of a seed file (YAML): makes its workspace, unless the database already holds anything. */
  seedFile?: string;
  /** Drives ids, seeded data and faults: the same for the same seed. Default: drawn. */
  seed?: number | string;
  /** The embedded broker's port (default 0), a broker elsewhere, or no agent side at all. */
  mqtt?: { port?: number } | { url: string; username?: string; password?: string; ca?: string } | false;
  /** PEM. With it HTTP and the embedded broker both speak TLS. */
  tls?: { cert: string; key: string };
  /** Header and claim names. Default `spec`. */
  dialect?: Dialect;
  /** Smallest RSA key that a device may be provisioned with. Default 2048. */
  minKeyBits?: number;
  /** Default: the reference. Defects and variants pass another. */
  behaviour?: PlatformBehaviour;
  /** Bounds of one check of a schema or of content. */
  checks?: Partial<CheckLimits>;
  faults?: PlatformFaults;
  /**
   * Serves the control API on this loopback port (0 for a free one), and keeps the state at the start for its `reset`. Default
   * token: a new one.
   */
  control?: { port: number; token?: string };
  /** Serves a page to watch and drive the platform, on this loopback port (0 for a free one). */
  ui?: { port: number };
  clock?: Clock;
  log?: Logger;
}
