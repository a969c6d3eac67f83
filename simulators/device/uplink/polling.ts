/**
 * Uplink over the public Platform API, which accepts no reports: the platform shows an applied deployment as `queued`,
 * and the device as offline.
 */

import type { Static } from 'typebox';
import {
  type AgentConfigInstance,
  type AgentDeployment,
  agentConfigInstance,
  agentRelease,
} from '../../../harness/contract/agent.ts';
import {
  DEPLOYMENT_TARGET_STATUSES,
  isDeploymentActivityStatus,
  isDeploymentErrorStatus,
} from '../../../harness/contract/enums.ts';
import { listEnvelope } from '../../../harness/contract/lists.ts';
import { objectShape, oneOf, type Shape, Timestamp, Type } from '../../../harness/contract/shape.ts';
import { NAMES_BY_DIALECT, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { ApiError, type ApiRequest, isTemporary } from '../../common/platform-http.ts';
import { type DiskIo, disk } from '../log/io.ts';
import type { DeploymentPort, SyncResult, UplinkStatus } from '../ports.ts';
import { loadDevice, saveDevice } from './identity.ts';
import { type UplinkIdentity, UplinkLifecycle } from './lifecycle.ts';
import { allPages, type CommonOptions, createShared, type DeploymentSource, parseUrl, type Shared } from './sync.ts';

const PAGE = 100;
const WANTED_ACTIVITIES = ['queued', 'deployed'];

/** The filters come from the published service, not from the specification. */
export const deploymentFilter = (deviceId: string): string =>
  `device_id=${encodeURIComponent(deviceId)}&activity_status=${encodeURIComponent(WANTED_ACTIVITIES.join('|'))}` +
  '&order_by=created_at:asc&expand=release&expand=config_instances';

const identified = objectShape('Device', { id: Type.String() });
const namedDevices = objectShape('DeviceList', {
  has_more: Type.Boolean(),
  data: Type.Array(Type.Object({ id: Type.String(), name: Type.Optional(Type.Unknown()) })),
});
const listedDeployment = Type.Object({
  id: Type.String(),
  device_id: Type.String(),
  target_status: oneOf(DEPLOYMENT_TARGET_STATUSES),
  created_at: Timestamp,
});
export const listedDeployments = objectShape('list of deployments', {
  has_more: Type.Boolean(),
  data: Type.Array(listedDeployment),
});
const instancesWithContent = objectShape('ConfigInstanceList', {
  ...listEnvelope.schema.properties,
  data: Type.Array(Type.Object({ id: Type.String(), content: Type.Optional(Type.Object({ data: Type.String() })) })),
});

export interface PollingUplinkOptions extends CommonOptions {
  kind: 'polling';
  /** Base URL of the Platform API, e.g. `https://host/beta`; a URL without a path gets `/beta`. */
  platform: string;
  /** API key with the scopes `deployments:read`, `config_instances:read`, `devices:read` and `devices:write`. */
  apiKey: string;
  /** Version of the Platform API, by default the newest version. */
  apiVersion?: SupportedVersion;
  /** Milliseconds between polls for deployments, default 30 000. */
  intervalMs?: number;
  /** Returns the device id of a robot. Default: each robot finds or creates a device with its name. */
  deviceOf?: (name: string) => string | undefined;
  /** True if the robot also applies staged deployments, for a platform that cannot deploy. */
  takesStaged?: boolean;
}

export interface PollingHub extends Shared {
  readonly headers: Record<string, string>;
  readonly intervalMs: number;
  readonly deviceOf: NonNullable<PollingUplinkOptions['deviceOf']>;
  readonly takesStaged: boolean;
  readonly unfiltered: Set<'devices' | 'deployments'>;
}

export function createPollingHub(options: PollingUplinkOptions): PollingHub {
  const { apiKey, dialect = 'spec', intervalMs = 30_000, takesStaged = false } = options;
  const { deviceOf = () => undefined, apiVersion = NEWEST_VERSION } = options;
  const baseUrl = parseUrl('platform', options.platform, ['http:', 'https:']);
  if (baseUrl.pathname === '/') baseUrl.pathname = '/beta';
  const headers = { ...options.headers, 'X-API-Key': apiKey, [NAMES_BY_DIALECT[dialect].versionHeader]: apiVersion };
  const unfiltered: PollingHub['unfiltered'] = new Set();
  return Object.assign(createShared(options, baseUrl), { headers, intervalMs, deviceOf, takesStaged, unfiltered });
}

export class PollingApi implements DeploymentSource {
  readonly #hub: PollingHub;
  readonly #directory: string;
  readonly #io: DiskIo;
  deviceId: string | undefined;

  constructor(hub: PollingHub, directory: string, io = disk) {
    this.#hub = hub;
    this.#directory = directory;
    this.#io = io;
  }

  async enrol(name: string, signal: AbortSignal): Promise<void> {
    this.deviceId ??= this.#hub.deviceOf(name) ?? (await loadDevice(this.#directory))?.device_id;
    if (this.deviceId !== undefined) return;
    const find = async () => {
      const listed = await this.#pages('devices', `name=${encodeURIComponent(name)}`, namedDevices, signal);
      return listed.find((device) => device.name === name);
    };
    const request: ApiRequest = { ...this.#get('/devices', signal), method: 'POST', body: { name } };
    const create = (): Promise<{ id: string }> =>
      this.#hub.http.json(request, identified).catch(async (error: unknown) => {
        // Looks for the device after a conflict, because an earlier attempt may have lost only its answer.
        const created = error instanceof ApiError && error.status === 409 ? await find() : undefined;
        if (created === undefined) throw error;
        return created;
      });
    const { id } = (await find()) ?? (await create());
    await saveDevice(this.#directory, { device_id: id, session_id: '' }, this.#io);
    this.deviceId = id;
  }

  async list(signal: AbortSignal): Promise<AgentDeployment[]> {
    const own = this.deviceId ?? '';
    const listed = await this.#pages('deployments', deploymentFilter(own), listedDeployments, signal);
    const { takesStaged } = this.#hub;
    return listed.flatMap((each) => {
      if (each.device_id !== own) return [];
      const deployment = completed(each);
      if (WANTED_ACTIVITIES.includes(deployment.activity_status)) return [deployment];
      return takesStaged && deployment.activity_status === 'staged'
        ? [{ ...deployment, target_status: 'deployed' }]
        : [];
    });
  }

  async #pages<T extends { id: string }>(
    list: 'devices' | 'deployments',
    filter: string,
    answer: Shape & { is(value: unknown): value is { data: T[]; has_more: boolean } },
    signal: AbortSignal,
  ): Promise<T[]> {
    const { http, unfiltered } = this.#hub;
    const all = (query: string): Promise<T[]> =>
      allPages((offset) => http.json(this.#get(`/${list}?limit=${PAGE}${query}&offset=${offset}`, signal), answer));
    if (unfiltered.has(list)) return await all('');
    return await all(`&${filter}`).catch(async (error: unknown) => {
      // Asks without the filter if it may be the cause of the 400 or 422; for any other cause, this request fails too.
      if (!(error instanceof ApiError && [400, 422].includes(error.status))) throw error;
      const whole = await all('');
      unfiltered.add(list);
      return whole;
    });
  }

  async contents(instances: AgentConfigInstance[], signal: AbortSignal): Promise<Uint8Array[]> {
    const held = new Map<string, Uint8Array>();
    for (let start = 0; start < instances.length; start += PAGE) {
      const ids = instances.slice(start, start + PAGE).map(({ id }) => id);
      const path = `/config_instances?limit=${PAGE}&expand=content&id=${encodeURIComponent(ids.join('|'))}`;
      const page = await this.#hub.http.json(this.#get(path, signal), instancesWithContent);
      for (const { id, content } of page.data) if (content) held.set(id, Buffer.from(content.data));
    }
    return Promise.all(
      instances.map(
        ({ id }) =>
          held.get(id) ??
          this.#hub.http.bytes(this.#get(`/config_instances/${encodeURIComponent(id)}/content`, signal)),
      ),
    );
  }

  #get(path: string, signal: AbortSignal): ApiRequest {
    return { method: 'GET', path, headers: this.#hub.headers, signal };
  }
}

function completed(listed: Static<typeof listedDeployment>): AgentDeployment {
  const given: Partial<Record<keyof AgentDeployment, unknown>> = listed;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const { activity_status, error_status, release, config_instances } = given;
  const fresh = listed.target_status === 'staged' ? 'staged' : 'queued';
  const activity = isDeploymentActivityStatus(activity_status) ? activity_status : fresh;
  const error = isDeploymentErrorStatus(error_status) ? error_status : 'none';
  return {
    ...listed,
    object: 'deployment',
    description: text(given.description),
    status: error === 'none' ? activity : error,
    activity_status: activity,
    error_status: error,
    release_id: text(given.release_id),
    updated_at: listed.created_at,
    ...(agentRelease.is(release) && { release }),
    config_instances: Array.isArray(config_instances)
      ? config_instances.filter((instance) => agentConfigInstance.is(instance))
      : [],
  };
}

export class PollingUplink extends UplinkLifecycle {
  readonly #hub: PollingHub;
  readonly #api: PollingApi;
  protected liveStatus: UplinkStatus = 'starting';

  constructor(hub: PollingHub, port: DeploymentPort, identity: UplinkIdentity) {
    const api = new PollingApi(hub, identity.directory, identity.io);
    super(hub, port, api, identity.name, { pollsEveryMs: hub.intervalMs });
    this.#hub = hub;
    this.#api = api;
  }

  get deviceId(): string | undefined {
    return this.#api.deviceId;
  }

  sync(): Promise<SyncResult> {
    return this.scheduler.sync();
  }

  protected async open(): Promise<void> {
    await this.enrol((error) => this.onSyncFailed(error));
    await this.untilOnline(() => void this.sync());
  }

  protected close(): Promise<void> {
    return this.scheduler.stop();
  }

  override onReached(): void {
    if (this.liveStatus !== 'online') this.connectedAt = this.#hub.time.now();
    this.liveStatus = 'online';
    this.online?.resolve();
  }

  onSyncFailed(error: Error): void {
    if (this.liveStatus === 'online') this.disconnectedAt = this.#hub.time.now();
    this.liveStatus = 'offline';
    if (!isTemporary(error)) this.online?.reject(error);
    this.#hub.log?.warn({ robot: this.name, error: error.message }, 'cannot poll');
  }
}
