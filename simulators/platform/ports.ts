/**
 * The interfaces between the platform's core (store, lifecycle, routes) and its agent side (agent routes, MQTT broker).
 */
import type {
  AgentConfigInstance,
  AgentDeployment,
  AgentGitCommit,
  AgentRelease,
  DeploymentReport,
} from '../../harness/contract/agent.ts';
import type { DeviceRow } from './store/rows.ts';

/** A device as the agent side sees it. */
export type AgentDeviceRecord = Pick<
  DeviceRow,
  | ('id' | 'name' | 'status' | 'session_id' | 'agent_version' | 'public_key_pem')
  | `${'last_connected' | 'last_disconnected' | 'created' | 'updated'}_at`
>;

/** What a device is provisioned with. */
export interface Credentials {
  agent_version: string;
  public_key_pem: string;
  /** Lowercase hex SHA-256 of the key's DER SubjectPublicKeyInfo. */
  fingerprint: string;
}

/** A refusal by the core, with the HTTP status and the parts of the error body. */
export class PlatformError extends Error {
  override name = 'PlatformError';
  readonly status: number;
  readonly code: string;
  readonly params: Record<string, unknown>;
  constructor(status: number, code: string, message: string, params: Record<string, unknown> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.params = params;
  }
}

/**
 * Implemented by the core, used by the agent side. Synchronous: the store is SQLite in this process. Throws
 * PlatformError.
 */
export interface AgentPort {
  /**
   * Creates the device of that name, or takes an `inactive` one over; spends the provisioning token (5 minutes, once a
   * device).
   */
  provision(token: string, request: Credentials & { name: string }): AgentDeviceRecord;
  /** The device is the one the token was bound to. A new key and session; its current deployment is queued again. */
  reprovision(token: string, request: Credentials): AgentDeviceRecord;
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  deviceById(id: string): AgentDeviceRecord | undefined;
  /** Merges; returns the device. */
  updateDevice(id: string, change: { agent_version?: string }): AgentDeviceRecord;
  /** A device connected to the broker, or disconnected. */
  setConnected(deviceId: string, connected: boolean): void;
  /**
   * That device's deployments, oldest first, filtered by activity status (all when empty); `total` counts all that
   * match.
   */
  deployments(
    deviceId: string,
    query: { activity: readonly string[]; limit: number; offset: number; expand: readonly string[] },
  ): { items: AgentDeployment[]; total: number };
  deployment(deviceId: string, deploymentId: string, expand: readonly string[]): AgentDeployment;
  /** Applies a report: state only moves forward; sets timestamps; drives what follows (current deployment, drifts). */
  report(deviceId: string, deploymentId: string, report: DeploymentReport): AgentDeployment;
  configInstance(id: string): AgentConfigInstance;
  content(deviceId: string, configInstanceId: string): { format: string; data: Uint8Array };
  release(id: string): AgentRelease;
  gitCommit(id: string): AgentGitCommit;
}

/** Implemented by the agent side, used by the core. */
export interface DeviceMessenger {
  /** Over MQTT to the device and back. Resolves by `timeout_nanos` at the latest. */
  ping(
    deviceId: string,
    timeoutNanos: number,
  ): Promise<{ code: 'success'; round_trip_nanos: number } | { code: 'timeout' }>;
  /** Asks a device to sync. The message is retained, so that an offline device gets it when it reconnects. */
  requestSync(deviceId: string): void;
  /** Ends a device's session (archived, reprovisioned). */
  disconnect(deviceId: string): void;
}

/** For a platform without an agent side: no device can be reached. */
export const noMessenger: DeviceMessenger = {
  ping: async () => ({ code: 'timeout' }),
  requestSync: () => {},
  disconnect: () => {},
};
