/** Interfaces between the platform's core (store, lifecycle, routes) and its agent side (agent routes, MQTT broker). */
import type {
  AgentConfigInstance,
  AgentDeployment,
  AgentGitCommit,
  AgentRelease,
  DeploymentReport,
} from '../../harness/contract/agent.ts';
import type { DeviceRow } from './store/rows.ts';

export type AgentDeviceRecord = Pick<
  DeviceRow,
  | ('id' | 'name' | 'status' | 'session_id' | 'agent_version' | 'public_key_pem')
  | `${'last_connected' | 'last_disconnected' | 'created' | 'updated'}_at`
>;

export interface Credentials {
  agent_version: string;
  public_key_pem: string;
  /** SHA-256 of the key's DER SubjectPublicKeyInfo, lowercase hex. */
  fingerprint: string;
}

/** Refusal by the core, with HTTP status and content of the error body. */
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
 * Calls of the agent side to the core; synchronous, because the store is SQLite in this process. Throw PlatformError.
 */
export interface AgentPort {
  /**
   * Creates the device of that name, or takes over an `inactive` one. Consumes the provisioning token, which lasts five
   * minutes and serves each device once.
   */
  provision(token: string, request: Credentials & { name: string }): AgentDeviceRecord;
  /** Gives the token's device a new key and session, and queues its current deployment again. */
  reprovision(token: string, request: Credentials): AgentDeviceRecord;
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  deviceById(id: string): AgentDeviceRecord | undefined;
  updateDevice(id: string, change: { agent_version?: string }): AgentDeviceRecord;
  setConnected(deviceId: string, connected: boolean): void;
  /** Deployments of the device, oldest first. `activity`: statuses, or none for all; `total` counts all matches. */
  deployments(
    deviceId: string,
    query: { activity: readonly string[]; limit: number; offset: number; expand: readonly string[] },
  ): { items: AgentDeployment[]; total: number };
  deployment(deviceId: string, deploymentId: string, expand: readonly string[]): AgentDeployment;
  /** Applies a report, which only moves forward; sets timestamps, the current deployment and drifts. */
  report(deviceId: string, deploymentId: string, report: DeploymentReport): AgentDeployment;
  configInstance(id: string): AgentConfigInstance;
  content(deviceId: string, configInstanceId: string): { format: string; data: Uint8Array };
  release(id: string): AgentRelease;
  gitCommit(id: string): AgentGitCommit;
}

/** Calls of the core to the agent side. */
export interface DeviceMessenger {
  /** Pings the device over MQTT; resolves within the timeout. */
  ping(
    deviceId: string,
    timeoutNanos: number,
  ): Promise<{ code: 'success'; round_trip_nanos: number } | { code: 'timeout' }>;
  /** Requests a sync by a retained message, which an offline device gets when it reconnects. */
  requestSync(deviceId: string): void;
  /** Ends the session of an archived or reprovisioned device. */
  disconnect(deviceId: string): void;
}

/** Messenger of a platform without an agent side. */
export const noMessenger: DeviceMessenger = {
  ping: async () => ({ code: 'timeout' }),
  requestSync: () => {},
  disconnect: () => {},
};
