/** Interfaces between the platform's core and its agent side (agent API and MQTT broker). */
import type { AgentDeployment, AgentGitCommit, AgentRelease, DeploymentReport } from '../../harness/contract/agent.ts';
import type { DeviceRow } from './store/rows.ts';

export type AgentDeviceRecord = Pick<
  DeviceRow,
  | ('id' | 'name' | 'status' | 'session_id' | 'agent_version' | 'public_key_pem')
  | `${'last_connected' | 'last_disconnected' | 'created' | 'updated'}_at`
>;

export interface Credentials {
  agent_version: string;
  public_key_pem: string;
  /** SHA-256 of the public key in DER (SubjectPublicKeyInfo), in lowercase hex. */
  fingerprint: string;
}

/** Refusal of a request, with the HTTP status and the fields of the error body. */
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

/** Functions of the platform that the agent side calls. Methods throw PlatformError. */
export interface AgentPort {
  /**
   * Creates a device, or provisions an `inactive` device with the same name. A token expires after five minutes and
   * works once for each device.
   */
  provision(token: string, request: Credentials & { name: string }): AgentDeviceRecord;
  /** Gives the device of the token a new key and session, and queues the target deployment again. */
  reprovision(token: string, request: Credentials): AgentDeviceRecord;
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  deviceById(id: string): AgentDeviceRecord | undefined;
  updateDevice(id: string, change: { agent_version?: string }): AgentDeviceRecord;
  setConnected(deviceId: string, connected: boolean): void;
  /**
   * Returns a page of a device's deployments, oldest first. Empty `activity`: all statuses. `total`: number on all
   * pages.
   */
  deployments(
    deviceId: string,
    query: { activity: readonly string[]; limit: number; offset: number; expand: readonly string[] },
  ): { items: AgentDeployment[]; total: number };
  deployment(deviceId: string, deploymentId: string, expand: readonly string[]): AgentDeployment;
  /** Applies an agent's report; ignores a report that moves the deployment backwards. */
  report(deviceId: string, deploymentId: string, report: DeploymentReport): AgentDeployment;
  content(deviceId: string, configInstanceId: string): { format: string; data: Uint8Array };
  release(id: string): AgentRelease;
  gitCommit(id: string): AgentGitCommit;
}

export interface DeviceMessenger {
  /** Pings a device; resolves with `timeout` unless the device answers within `timeoutNanos`. */
  ping(
    deviceId: string,
    timeoutNanos: number,
  ): Promise<{ code: 'success'; round_trip_nanos: number } | { code: 'timeout' }>;
  /** Asks a device to sync, by a retained message that an offline device receives when it reconnects. */
  requestSync(deviceId: string): void;
  /** Disconnects a device that was archived or reprovisioned. */
  disconnect(deviceId: string): void;
}

export const noMessenger: DeviceMessenger = {
  ping: async () => ({ code: 'timeout' }),
  requestSync: () => {},
  disconnect: () => {},
};
