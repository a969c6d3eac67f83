/** Where the device core and its uplink meet: the core implements DeploymentPort, an uplink implements Uplink. */
import type { AgentDeployment, AgentRelease } from '../../harness/contract/agent.ts';
import type { Deployment } from '../../harness/contract/deployment.ts';

export interface ConfigFile {
  /** As the platform names it; written below the robot's own root, whatever it says. */
  filepath: string;
  content: Uint8Array;
}

/** A deployment could not be applied. `retryable` false means it can never be (it becomes `failed`). */
export class DeployError extends Error {
  override name = 'DeployError';
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.retryable = retryable;
  }
}

export interface DeploymentPort {
  /** Deployments that are on the device now (activity `deployed` or `removing`); their config files exist. */
  active(): Deployment[];
  /** A deployment the device knows, whatever its state. */
  get(id: string): Deployment | undefined;
  /**
   * Makes `wanted` the current deployment: writes all files or none, removes the one it replaces (whose id comes back in
   * `replaced`, archived), and resolves once `deployment.deployed` is in the event log. Rejects with DeployError.
   */
  deploy(wanted: AgentDeployment, files: ConfigFile[]): Promise<{ deployment: Deployment; replaced: Deployment[] }>;
  /** Removes the files, archives, publishes `deployment.removed`. */
  remove(id: string): Promise<Deployment>;
  /** Records an error status; `failed` also archives and removes what was deployed. Creates the record when the device does not hold it yet. */
  fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment>;
  /** Remembers releases (with git commits) for `/releases/*` and `/git_commits/*`. */
  remember(release: AgentRelease): void;
}

/** What a sync came to, as `POST /device/sync` answers it. */
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
  stop(): Promise<void>;
  /** Stops as when the robot is killed: without a goodbye. Default: `stop`. */
  abandon?(): Promise<void>;
  /** Syncs now; calls at the same time share one sync. */
  sync(): Promise<SyncResult>;
}
