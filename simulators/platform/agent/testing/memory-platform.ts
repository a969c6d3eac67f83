import type { AgentDeployment, DeploymentReport } from '../../../../harness/contract/agent.ts';
import type { DeploymentActivityStatus } from '../../../../harness/contract/enums.ts';
import { type Clock, systemClock, timestamp } from '../../../common/clock.ts';
import { type AgentDeviceRecord, type AgentPort, type Credentials, PlatformError } from '../../ports.ts';

type StoredDevice = AgentDeviceRecord & { fingerprint: string | null };
type StoredDeployment = AgentDeployment & { deployed_at?: string; archived_at?: string };

export const queuedDeployment = (id: string, change: Partial<AgentDeployment> = {}): AgentDeployment => ({
  object: 'deployment',
  id,
  description: 'a deployment',
  status: 'queued',
  activity_status: 'queued',
  error_status: 'none',
  target_status: 'deployed',
  device_id: 'dvc_1',
  release_id: 'rls_1',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  ...change,
});

export const configInstance = (id: string, filepath: string, created_at = '2026-01-01T00:00:00.000Z') => ({
  object: 'config_instance' as const,
  id,
  config_type_name: 'Any',
  filepath,
  created_at,
  config_schema_id: 'cfg_sch_1',
  config_type_id: 'cfg_typ_1',
});

const FORWARD: DeploymentActivityStatus[] = ['drifted', 'staged', 'queued', 'deployed', 'removing', 'archived'];

export class MemoryPlatform implements AgentPort {
  readonly devices = new Map<string, StoredDevice>();
  readonly reports: { deploymentId: string; report: DeploymentReport }[] = [];
  readonly #deployments = new Map<string, StoredDeployment>();
  readonly #contents = new Map<string, { deviceId: string; format: string; data: Uint8Array }>();
  /** Device bound to each token; null if the token may provision any device. */
  readonly #provisioningTokens = new Map<string, string | null>();
  readonly #clock: Clock;
  #ids = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  #id = (prefix: string) => `${prefix}_${String(++this.#ids).padStart(6, '0')}`;

  provisioningToken(deviceId: string | null = null): string {
    const token = this.#id('prv');
    this.#provisioningTokens.set(token, deviceId);
    return token;
  }

  deploy(deviceId: string, files: Record<string, string | Uint8Array>): AgentDeployment {
    for (const other of this.#deployments.values()) {
      if (other.device_id === deviceId && other.target_status === 'deployed') this.archive(other.id);
    }
    const created_at = timestamp(this.#clock);
    const instances = Object.entries(files).map(([filepath, content]) => {
      const id = this.#id('cfg_inst');
      this.#contents.set(id, { deviceId, format: 'json', data: Buffer.from(content) });
      return configInstance(id, filepath, created_at);
    });
    const deployment: StoredDeployment = queuedDeployment(this.#id('dpl'), {
      device_id: deviceId,
      created_at,
      updated_at: created_at,
      config_instances: instances,
    });
    this.#deployments.set(deployment.id, deployment);
    return deployment;
  }

  archive(deploymentId: string): void {
    const deployment = this.stored(deploymentId);
    deployment.target_status = 'archived';
    if (deployment.activity_status === 'queued') this.#move(deployment, 'archived');
  }

  stored(deploymentId: string): StoredDeployment {
    const deployment = this.#deployments.get(deploymentId);
    if (!deployment) throw new PlatformError(404, 'deployment_not_found', 'no such deployment');
    return deployment;
  }

  loseContent(deploymentId: string): void {
    for (const { id } of this.stored(deploymentId).config_instances ?? []) this.#contents.delete(id);
  }

  #move(deployment: StoredDeployment, activity: DeploymentActivityStatus): void {
    deployment.activity_status = activity;
    deployment.status = deployment.error_status === 'none' ? activity : deployment.error_status;
    deployment.updated_at = timestamp(this.#clock);
  }

  #spend(token: string): string | null {
    const bound = this.#provisioningTokens.get(token);
    if (bound === undefined) throw new PlatformError(401, 'unauthorized', 'the provisioning token is not valid');
    this.#provisioningTokens.delete(token);
    return bound;
  }

  enrolled(name: string, credentials: Partial<Credentials> = {}): AgentDeviceRecord {
    const usual = { agent_version: 'v1', public_key_pem: '', fingerprint: '' };
    return this.provision(this.provisioningToken(), { name, ...usual, ...credentials });
  }

  provision(token: string, request: Credentials & { name: string }): AgentDeviceRecord {
    const named = [...this.devices.values()].some(({ name }) => name === request.name);
    if (named && this.#provisioningTokens.has(token)) {
      throw new PlatformError(409, 'device_provisioned', 'a device of that name is provisioned already');
    }
    this.#spend(token);
    const now = timestamp(this.#clock);
    const device: StoredDevice = {
      ...request,
      id: this.#id('dvc'),
      status: 'offline',
      session_id: this.#id('dvc_sess'),
      last_connected_at: null,
      last_disconnected_at: null,
      created_at: now,
      updated_at: now,
    };
    this.devices.set(device.id, device);
    return device;
  }

  reprovision(token: string, request: Credentials): AgentDeviceRecord {
    const device = this.devices.get(this.#spend(token) ?? '');
    if (!device) throw new PlatformError(401, 'unauthorized', 'the provisioning token is bound to no device');
    return Object.assign(device, request, { session_id: this.#id('dvc_sess') });
  }

  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined {
    return [...this.devices.values()].findLast((device) => device.fingerprint === fingerprint);
  }

  deviceById(id: string): AgentDeviceRecord | undefined {
    return this.devices.get(id);
  }

  updateDevice(id: string, change: { agent_version?: string }): AgentDeviceRecord {
    const device = this.devices.get(id);
    if (!device) throw new PlatformError(404, 'device_not_found', 'no such device');
    return Object.assign(device, change);
  }

  setConnected(deviceId: string, connected: boolean): void {
    const device = this.devices.get(deviceId);
    if (device) device.status = connected ? 'online' : 'offline';
  }

  deployments(
    deviceId: string,
    query: { activity: readonly string[]; limit: number; offset: number },
  ): { items: AgentDeployment[]; total: number } {
    const matching = [...this.#deployments.values()].filter(
      (deployment) =>
        deployment.device_id === deviceId &&
        (query.activity.length === 0 || query.activity.includes(deployment.activity_status)),
    );
    return { items: matching.slice(query.offset, query.offset + query.limit), total: matching.length };
  }

  deployment(deviceId: string, deploymentId: string): AgentDeployment {
    const deployment = this.stored(deploymentId);
    if (deployment.device_id !== deviceId) throw new PlatformError(404, 'deployment_not_found', 'no such deployment');
    return deployment;
  }

  report(deviceId: string, deploymentId: string, report: DeploymentReport): AgentDeployment {
    const deployment = this.stored(this.deployment(deviceId, deploymentId).id);
    this.reports.push({ deploymentId, report });
    const { activity_status: activity = deployment.activity_status, ...rest } = report;
    if (FORWARD.indexOf(activity) < FORWARD.indexOf(deployment.activity_status)) {
      throw new PlatformError(409, 'conflict', 'a deployment never moves backwards');
    }
    Object.assign(deployment, rest);
    this.#move(deployment, activity);
    return deployment;
  }

  content(deviceId: string, configInstanceId: string): { format: string; data: Uint8Array } {
    const content = this.#contents.get(configInstanceId);
    if (content?.deviceId !== deviceId) throw new PlatformError(404, 'config_instance_not_found', 'no such content');
    return content;
  }

  release(): never {
    throw new PlatformError(404, 'release_not_found', 'no such release');
  }

  gitCommit(): never {
    throw new PlatformError(404, 'git_commit_not_found', 'no such git commit');
  }
}
