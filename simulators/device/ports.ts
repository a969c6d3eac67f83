/** Where the device core and its uplink meet: the core implements DeploymentPort, an uplink implements Uplink. */
import type { AgentDeployment, AgentRelease } from '../../harness/contract/agent.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';

export interface ConfigFile {
  /** Path as the platform names it; the file is written below the robot's own root in any case. */
  filepath: string;
  content: Uint8Array;
}

/** A deployment could not be applied. When `retryable` is false it never can be, and becomes `failed`. */
export class DeployError extends Error {
  override name = 'DeployError';
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.retryable = retryable;
  }
}

export interface DeploymentPort {
  /** Deployments that are on the device now (activity `deployed` or `removing`), with their config files. */
  active(): Deployment[];
  /** A deployment that the device knows, in any state. */
  get(id: string): Deployment | undefined;
  /**
   * Makes `wanted` the current deployment: writes all files or none, archives and removes the deployment that it
   * replaces (in `replaced`), and resolves once `deployment.deployed` is in the event log. Rejects with DeployError.
   */
  deploy(wanted: AgentDeployment, files: ConfigFile[]): Promise<{ deployment: Deployment; replaced: Deployment[] }>;
  /** Removes the files, archives, publishes `deployment.removed`. */
  remove(id: string): Promise<Deployment>;
  /**
   * Records an error status, also for a deployment that is new to the device; `failed` archives and removes it as well.
   */
  fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment>;
  /** Remembers releases (with git commits) for `/releases/*` and `/git_commits/*`. */
  remember(release: AgentRelease): void;
}

/** The result of a sync, as `POST /device/sync` answers it. */
export interface SyncResult {
  code: 'success' | 'network_connection_error' | 'in_cooldown';
  message: string;
}

export type UplinkStatus = 'starting' | 'online' | 'offline' | 'stopped';

export interface Uplink extends AsyncDisposable {
  readonly status: UplinkStatus;
  /** Known once provisioned. */
  readonly deviceId: string | undefined;
  readonly lastSyncedAt: string | undefined;
  readonly lastConnectedAt: string | undefined;
  readonly lastDisconnectedAt: string | undefined;
  /** Provisions if needed, connects, subscribes and syncs once; resolves when online. Idempotent. */
  start(): Promise<void>;
  /** Resolves when the first attempt to enrol has ended, well or not, or the uplink is stopped. */
  readonly firstAttempt: Promise<void>;
  stop(): Promise<void>;
  /** Stops as when the robot is killed, without MQTT's DISCONNECT. Default: `stop`. */
  abandon?(): Promise<void>;
  /** Syncs now; calls at the same time share one sync. */
  sync(): Promise<SyncResult>;
}
