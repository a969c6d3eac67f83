/** Interfaces between the device core, which implements DeploymentPort, and its uplink, which implements Uplink. */
import type { AgentDeployment, AgentRelease } from '../../harness/contract/agent.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';

export interface ConfigFile {
  /** Path from the platform; the device writes the file below the robot's own root in any case. */
  filepath: string;
  content: Uint8Array;
}

/** Failure to apply a deployment, which becomes `failed` unless it is `retryable`. */
export class DeployError extends Error {
  override name = 'DeployError';
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.retryable = retryable;
  }
}

export interface DeploymentPort {
  /** Deployments on the device (activity `deployed` or `removing`), with their config files. */
  active(): Deployment[];
  get(id: string): Deployment | undefined;
  /**
   * Makes `wanted` the current deployment: writes all files or none, archives and removes the deployments before it,
   * and resolves once `deployment.deployed` is in the event log. Rejects with DeployError.
   */
  deploy(wanted: AgentDeployment, files: ConfigFile[]): Promise<{ deployment: Deployment; replaced: Deployment[] }>;
  remove(id: string): Promise<Deployment>;
  /** Records an error status, of a new deployment too; archives and removes a `failed` one. */
  fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment>;
  /** Keeps a release, with its git commit, for `/releases/*` and `/git_commits/*`. */
  remember(release: AgentRelease): void;
}

export interface SyncResult {
  code: 'success' | 'network_connection_error' | 'in_cooldown';
  message: string;
}

export type UplinkStatus = 'starting' | 'online' | 'offline' | 'stopped';

export interface Uplink extends AsyncDisposable {
  readonly status: UplinkStatus;
  readonly deviceId: string | undefined;
  readonly lastSyncedAt: string | undefined;
  readonly lastConnectedAt: string | undefined;
  readonly lastDisconnectedAt: string | undefined;
  /** Provisions if needed, connects, subscribes and syncs once; resolves when online. Idempotent. */
  start(): Promise<void>;
  /** Resolves when the first attempt to enrol has ended, or the uplink has stopped. */
  readonly firstAttempt: Promise<void>;
  stop(): Promise<void>;
  /** Stops as after a kill, without MQTT's DISCONNECT. Default: `stop`. */
  abandon?(): Promise<void>;
  /** Syncs now; calls during a sync share it. */
  sync(): Promise<SyncResult>;
}
