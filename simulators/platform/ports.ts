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

/** Platform as the agent side sees it. Methods throw PlatformError. */
export interface AgentPort {
  /**
   * Provisions an `inactive` device with the same name, or creates one. A token expires after five minutes and works
   * once for each device.
   */
  provision(token: string, request: Credentials & { name: string }): AgentDeviceRecord;
  /** Gives the token's device a new key and session, and queues its target deployment again. */
  reprovision(token: string, request: Credentials): AgentDeviceRecord;
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  deviceById(id: string): AgentDeviceRecord | undefined;
  updateDevice(id: string, change: { agent_version?: string }): AgentDeviceRecord;
  setConnected(deviceId: string, connected: boolean): void;
  /** Oldest first. Empty `activity`: all statuses. `total`: number on all pages. */
  deployments(
    deviceId: string,
    query: { activity: readonly string[]; limit: number; offset: number; expand: readonly string[] },
  ): { items: AgentDeployment[]; total: number };
  deployment(deviceId: string, deploymentId: string, expand: readonly string[]): AgentDeployment;
  report(deviceId: string, deploymentId: string, report: DeploymentReport): AgentDeployment;
  content(deviceId: string, configInstanceId: string): { format: string; data: Uint8Array };
  release(id: string): AgentRelease;
  gitCommit(id: string): AgentGitCommit;
}

export interface DeviceMessenger {
  ping(
    deviceId: string,
    timeoutNanos: number,
  ): Promise<{ code: 'success'; round_trip_nanos: number } | { code: 'timeout' }>;
  /** Sends a retained message, which an offline device receives when it reconnects. */
  requestSync(deviceId: string): void;
  disconnect(deviceId: string): void;
}

export const noMessenger: DeviceMessenger = {
  ping: async () => ({ code: 'timeout' }),
  requestSync: () => {},
  disconnect: () => {},
};
