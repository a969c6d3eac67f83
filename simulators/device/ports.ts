import type { AgentDeployment, AgentRelease } from '../../harness/contract/agent.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';

export interface ConfigFile {
  /** Path chosen by the platform; the device writes the file below the robot's root. */
  filepath: string;
  content: Uint8Array;
}

/** Failure to apply a deployment; the deployment becomes `failed` unless `retryable` is true. */
export class DeployError extends Error {
  override name = 'DeployError';
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.retryable = retryable;
  }
}

export interface DeploymentPort {
  active(): Deployment[];
  get(id: string): Deployment | undefined;
  /**
   * Writes all config files or none, archives earlier deployments, and logs `deployment.deployed`. Rejects with
   * DeployError.
   */
  deploy(wanted: AgentDeployment, files: ConfigFile[]): Promise<{ deployment: Deployment; replaced: Deployment[] }>;
  remove(id: string): Promise<Deployment>;
  /** Records an error status, even for an unknown deployment; archives a `failed` deployment. */
  fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment>;
  /** Stores a release and its git commit, served at `/releases/*` and `/git_commits/*`. */
  remember(release: AgentRelease): void;
  /** Publishes events that could not be stored before. Rejects with EventLogError. */
  publish(): Promise<void>;
}

export interface SyncResult {
  code: 'success' | 'network_connection_error' | 'in_cooldown';
  message: string;
  /** End of the cooldown, an ISO 8601 timestamp. */
  endsAt?: string;
}

export type UplinkStatus = 'starting' | 'online' | 'offline' | 'stopped';

export interface Uplink {
  readonly status: UplinkStatus;
  readonly deviceId: string | undefined;
  readonly lastSyncedAt: string | undefined;
  readonly lastConnectedAt: string | undefined;
  readonly lastDisconnectedAt: string | undefined;
  /** Enrols the device if necessary, connects and syncs; resolves once online. Repeated calls have no effect. */
  start(): Promise<void>;
  /** Resolves once the first attempt to enrol has succeeded or failed, or the uplink stops. */
  readonly firstAttempt: Promise<void>;
  stop(): Promise<void>;
  /** Breaks connections like a killed process, without an MQTT DISCONNECT. Default: `stop`. */
  abandon?(): Promise<void>;
  sync(): Promise<SyncResult>;
}

export interface SeenEvent {
  id: number;
  type: string;
  json: string;
}

export interface SeenFrame {
  /** Milliseconds since 1970. */
  at: number;
  id?: string;
  /** Field `event` of the frame; undefined for a comment. */
  type?: string;
  text: string;
  to: number[];
}

export interface SeenListener {
  client: string;
  since: number;
  after: number;
  types?: string[];
  frames: number;
  last?: string;
  /** Bytes not yet sent. */
  waiting: number;
}

export interface SeenLog {
  earliest: number;
  latest: number;
  count: number;
  bytes: number;
}

export interface Seen {
  events: SeenEvent[];
  frames: SeenFrame[];
  listeners?: Record<string, SeenListener>;
  log?: SeenLog;
  current?: Deployment | null;
}

export interface Opened {
  client: string | undefined;
  after: number;
  types: ReadonlySet<string> | undefined;
}
