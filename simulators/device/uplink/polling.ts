/**
 * An uplink that uses only the public Platform API: it polls the deployments of its device and applies them.
 *
 * The public API offers no way to report, and no presence. On the platform, a deployment that this robot has applied
 * stays `queued` (and is archived when the next one replaces it), a deployment that cannot be applied shows no error,
 * the device is never `online`, and a ping to it times out. On the robot itself (files, event stream, current
 * deployment) all is as with other uplinks.
 */

import Type from 'typebox';
import {
  type AgentConfigInstance,
  type AgentDeployment,
  agentDeploymentList,
} from '../../../harness/contract/agent.ts';
import { listEnvelope } from '../../../harness/contract/lists.ts';
import { shape } from '../../../harness/contract/shape.ts';
import { DIALECT_NAMES, type Dialect, NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { type ApiRequest, isTemporary } from '../../common/platform-http.ts';
import { type DiskIo, disk } from '../log/io.ts';
import type { DeploymentPort, SyncResult, UplinkStatus } from '../ports.ts';
import { loadDevice, saveDevice } from './identity.ts';
import { type UplinkIdentity, UplinkLifecycle } from './lifecycle.ts';
import { allPages, type CommonOptions, type DeploymentSource, parseUrl, type Shared, share } from './sync.ts';

// The public Platform API as a source of deployments: for platforms that have no agent side.

const DEFAULT_BASE_PATH = '/beta';
const DEFAULT_INTERVAL_MS = 30_000;
const PAGE = 100;
const LIST_QUERY =
  `limit=${PAGE}&activity_status=${encodeURIComponent('queued|deployed')}&order_by=created_at:asc` +
  '&expand=release&expand=config_instances';

const namedDevice = shape('Device', Type.Object({ id: Type.String(), name: Type.String() }));
const namedDevices = shape(
  'DeviceList',
  Type.Object({ ...listEnvelope.schema.properties, data: Type.Array(namedDevice.schema) }),
);
const instancesWithContent = shape(
  'ConfigInstanceList',
  Type.Object({
    ...listEnvelope.schema.properties,
    data: Type.Array(Type.Object({ id: Type.String(), content: Type.Optional(Type.Object({ data: Type.String() })) })),
  }),
);

export interface PollingUplinkOptions extends CommonOptions {
  kind: 'polling';
  /** Base URL of the Platform API, e.g. `https://host/beta`; a bare host stands for its `/beta`. */
  platform: string;
  /** Needs the scopes `deployments:read`, `config_instances:read`, `devices:read` and `devices:write`. */
  apiKey: string;
  dialect?: Dialect;
  /** Milliseconds between polls. Default 30 s. */
  intervalMs?: number;
}

/** What all polling robots of a process share: the platform's public API and the key to it. */
export interface PollingHub extends Shared {
  readonly headers: Record<string, string>;
  readonly intervalMs: number;
}

/** Throws when an option is not a valid address. */
export function createPollingHub(options: PollingUplinkOptions): PollingHub {
  const { apiKey, dialect = 'spec', intervalMs = DEFAULT_INTERVAL_MS } = options;
  const baseUrl = parseUrl('platform', options.platform, ['http:', 'https:']);
  if (baseUrl.pathname === '/') baseUrl.pathname = DEFAULT_BASE_PATH;
  const headers = { 'X-API-Key': apiKey, [DIALECT_NAMES[dialect].versionHeader]: NEWEST_VERSION };
  return Object.assign(share(options, baseUrl), { headers, intervalMs });
}

/** The public API as one robot uses it. */
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

  /** Finds out which device this robot is: the one remembered on disk, the one of its name, or a new one. */
  async enrol(name: string, signal: AbortSignal): Promise<void> {
    this.deviceId ??= (await loadDevice(this.#directory))?.device_id;
    if (this.deviceId !== undefined) return;
    const { http } = this.#hub;
    const found = await http.json(
      this.#get(`/devices?limit=${PAGE}&name=${encodeURIComponent(name)}`, signal),
      namedDevices,
    );
    const device =
      found.data.find((candidate) => candidate.name === name) ??
      (await http.json({ ...this.#get('/devices', signal), method: 'POST', body: { name } }, namedDevice));
    await saveDevice(this.#directory, { device_id: device.id, session_id: '' }, this.#io);
    this.deviceId = device.id;
  }

  list(signal: AbortSignal): Promise<AgentDeployment[]> {
    const query = `${LIST_QUERY}&device_id=${encodeURIComponent(this.deviceId ?? '')}`;
    return allPages((offset) =>
      this.#hub.http.json(this.#get(`/deployments?${query}&offset=${offset}`, signal), agentDeploymentList),
    );
  }

  /** Reads contents from the list where the platform expands them, and downloads the others one by one. */
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

/** An uplink that polls. */
export class PollingUplink extends UplinkLifecycle {
  readonly #hub: PollingHub;
  readonly #api: PollingApi;
  protected liveStatus: UplinkStatus = 'starting';
  /** Why the newest sync failed; undefined when it succeeded. */
  #failure: Error | undefined;

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

  /** Resolves after the first sync, also when the platform could not be reached for it. */
  protected async open(): Promise<void> {
    await this.enrol((error) => this.onSyncFailed(error));
    await this.sync();
    this.signal.throwIfAborted();
    if (this.#failure !== undefined && !isTemporary(this.#failure)) throw this.#failure;
  }

  protected close(): Promise<void> {
    return this.scheduler.stop();
  }

  override onReached(): void {
    if (this.liveStatus !== 'online') this.connectedAt = this.#hub.time.now();
    this.liveStatus = 'online';
    this.#failure = undefined;
  }

  onSyncFailed(error: Error): void {
    if (this.liveStatus === 'online') this.disconnectedAt = this.#hub.time.now();
    this.liveStatus = 'offline';
    this.#failure = error;
    this.#hub.log?.warn({ robot: this.name, error: error.message }, 'cannot poll');
  }
}
