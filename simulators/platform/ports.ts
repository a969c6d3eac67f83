/** Interfaces between the platform's core and its agent side (agent API and MQTT broker). */
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

/** Refusal with the HTTP status and the fields of the error body. */
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

/** Core as the agent side calls it; synchronous, because SQLite runs in this process. Methods throw PlatformError. */
export interface AgentPort {
  /**
   * Creates the device, or takes over an `inactive` device of that name. A token lasts five minutes and works once per
   * device.
   */
  provision(token: string, request: Credentials & { name: string }): AgentDeviceRecord;
  /** Gives the token's device a new key and session, and queues its target deployment again. */
  reprovision(token: string, request: Credentials): AgentDeviceRecord;
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  deviceById(id: string): AgentDeviceRecord | undefined;
  updateDevice(id: string, change: { agent_version?: string }): AgentDeviceRecord;
  setConnected(deviceId: string, connected: boolean): void;
  /** Oldest first. Empty `activity` selects all statuses; `total` counts the matches of all pages. */
  deployments(
    deviceId: string,
    query: { activity: readonly string[]; limit: number; offset: number; expand: readonly string[] },
  ): { items: AgentDeployment[]; total: number };
  deployment(deviceId: string, deploymentId: string, expand: readonly string[]): AgentDeployment;
  /** Ignores a report that moves the deployment backwards. */
  report(deviceId: string, deploymentId: string, report: DeploymentReport): AgentDeployment;
  configInstance(id: string): AgentConfigInstance;
  content(deviceId: string, configInstanceId: string): { format: string; data: Uint8Array };
  release(id: string): AgentRelease;
  gitCommit(id: string): AgentGitCommit;
}

export interface DeviceMessenger {
  /** Resolves with `timeout` unless the device answers within `timeoutNanos`. */
  ping(
    deviceId: string,
    timeoutNanos: number,
  ): Promise<{ code: 'success'; round_trip_nanos: number } | { code: 'timeout' }>;
  /** Sends a retained message, which an offline device receives when it reconnects. */
  requestSync(deviceId: string): void;
  /** Call when the session of an archived or reprovisioned device ends. */
  disconnect(deviceId: string): void;
}

export const noMessenger: DeviceMessenger = {
  ping: async () => ({ code: 'timeout' }),
  requestSync: () => {},
  disconnect: () => {},
};
