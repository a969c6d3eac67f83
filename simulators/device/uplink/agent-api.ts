/** Client of the platform's agent API (`/agent/v1`). */

import { arch, hostname, platform } from 'node:os';
import {
  AGENT_BASE_PATH,
  type AgentConfigInstance,
  type AgentDeployment,
  type AgentDevice,
  agentDeployment,
  agentDeploymentList,
  agentDevice,
  type DeploymentReport,
  tokenResponse,
} from '../../../harness/contract/agent.ts';
import { instantOf } from '../../../harness/contract/shape.ts';
import { AGENT_API_VERSION, NAMES_BY_DIALECT } from '../../../harness/contract/versions.ts';
import { ApiError, type ApiRequest } from '../../common/platform-http.ts';
import { type DiskIo, disk } from '../log/io.ts';
import { ensureKey, loadDevice, mintDeviceJwt, publicKeyPem, type StoredDevice, saveDevice } from './identity.ts';
import type { SyncHabits, UplinkIdentity } from './lifecycle.ts';
import { KeepAlive, type MqttEndpoint } from './mqtt.ts';
import { allPages, type CommonOptions, createShared, type DeploymentSource, parseUrl, type Shared } from './sync.ts';

/** Deviations of an agent, all unset in the reference agent. Times are in milliseconds. */
export interface AgentHabits extends SyncHabits {
  subscribesAfterMs?: number;
  answersPingsAfterMs?: number;
  /** Milliseconds between polls, by an agent that ignores requests to sync. */
  pollsEveryMs?: number;
  /** Subscribes to no MQTT topic after a lost connection. */
  subscribesOnce?: boolean;
  heedsRequests?: boolean;
  answersPings?: boolean;
  reports?(report: DeploymentReport): DeploymentReport | undefined;
}

export interface AgentUplinkOptions extends CommonOptions {
  kind: 'agent';
  /** URL of the platform, whose path is ignored, because the agent API is always at `/agent/v1`. */
  platform: string;
  /**
   * Provisioning token of a robot without a stored identity. A function creates a token when needed, and replaces a
   * `refused` token.
   */
  token?: string | ((refused: string | undefined, name: string) => string | undefined | Promise<string>);
  /**
   * URL of the MQTT broker. Default: host of the platform, with TLS on port 8883, or on loopback without TLS on port
   * 1883.
   */
  mqtt?: string;
  /** Bits of the robot's RSA key, default 2048. */
  keyBits?: number;
  /** Agent version that the robot `name` reports; undefined means `v0.1.0`. */
  versionOf?: ((name: string) => string | undefined) | undefined;
  habits?: AgentHabits;
}

const MQTT_PORT = 1883;
const MQTT_TLS_PORT = 8883;

export interface AgentHub extends Shared {
  readonly keepAlive: KeepAlive;
  readonly mqtt: MqttEndpoint;
  readonly headers: Record<string, string>;
  readonly versionOf: (name: string) => string | undefined;
  readonly versionHeader: string;
  readonly token: AgentUplinkOptions['token'];
  readonly keyBits: number;
  readonly habits: AgentHabits;
}

export function createAgentHub(options: AgentUplinkOptions): AgentHub {
  const { ca, dialect = 'spec', habits = {}, keyBits = 2048, token, versionOf = () => undefined } = options;
  const { origin, hostname: host } = parseUrl('platform', options.platform, ['http:', 'https:']);
  const shared = createShared(options, new URL(origin));
  const { versionHeader, agentHeaderPrefix } = NAMES_BY_DIALECT[dialect];
  const headers = {
    ...options.headers,
    [versionHeader]: AGENT_API_VERSION,
    [`${agentHeaderPrefix}-Host-Name`]: hostname(),
    [`${agentHeaderPrefix}-Arch`]: arch(),
    [`${agentHeaderPrefix}-Language`]: `node ${process.version}`,
    [`${agentHeaderPrefix}-OS`]: platform(),
  };
  return Object.assign(shared, {
    keepAlive: new KeepAlive(shared.time),
    mqtt: { ...mqttAddress(options.mqtt, host), ca },
    versionHeader: `${agentHeaderPrefix}-Version`,
    headers,
    versionOf,
    token,
    keyBits,
    habits,
  });
}

function mqttAddress(mqtt: string | undefined, platformHost: string): { host: string; port: number; tls: boolean } {
  if (mqtt === undefined) {
    const host = bare(platformHost);
    const loopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
    return { host, port: loopback ? MQTT_PORT : MQTT_TLS_PORT, tls: !loopback };
  }
  const url = parseUrl('mqtt', mqtt, ['mqtt:', 'mqtts:']);
  const tls = url.protocol === 'mqtts:';
  return { host: bare(url.hostname), port: Number(url.port || (tls ? MQTT_TLS_PORT : MQTT_PORT)), tls };
}

const bare = (host: string) => host.replace(/^\[|\]$/g, '');

const NO_TOKEN =
  'no provisioning token was given, and the platform knows no device with this key (POST /devices/provision)';

const LIST_QUERY = 'limit=100&activity_status=queued%7Cdeployed&expand=config_instances&expand=release.git_commit';

type Method = ApiRequest['method'];

export class AgentApi implements DeploymentSource {
  readonly #hub: AgentHub;
  readonly #dir: string;
  readonly #io: DiskIo;
  readonly #version: string;
  device: StoredDevice | undefined;
  #token = '';
  /** Milliseconds of the steady clock. */
  #useUntil = 0;
  #minting: Promise<string> | undefined;

  constructor(hub: AgentHub, { directory, io = disk, name }: UplinkIdentity) {
    this.#hub = hub;
    this.#dir = directory;
    this.#io = io;
    this.#version = hub.versionOf(name) ?? 'v0.1.0';
  }

  async enrol(name: string, signal: AbortSignal): Promise<void> {
    if (this.device) return;
    this.device = await loadDevice(this.#dir);
    if (this.device) return;
    await ensureKey(this.#dir, this.#hub.keyBits, this.#io);
    const device = await this.#provision(name, signal);
    await saveDevice(this.#dir, device, this.#io);
    this.device = device;
  }

  async #provision(name: string, signal: AbortSignal, refused?: string): Promise<StoredDevice> {
    const { http, token: given } = this.#hub;
    const token = typeof given === 'function' ? await given(refused, name) : given;
    const body = { public_key_pem: await publicKeyPem(this.#dir), agent_version: this.#version, name };
    try {
      if (token === undefined) throw new ApiError(401, 'unauthorized', NO_TOKEN);
      const request = this.#request('POST', '/devices/provision', token, signal);
      return stored(await http.json({ ...request, body }, agentDevice));
    } catch (error) {
      // Asks whether the platform knows the robot, because an earlier attempt may have lost only its response.
      const spent = error instanceof ApiError && (error.unauthorized || error.status === 409);
      const known = spent ? await this.#recall(signal) : undefined;
      if (known) return known;
      const outdated =
        token !== undefined && refused === undefined && error instanceof ApiError && error.status === 401;
      if (outdated && typeof given === 'function') return await this.#provision(name, signal, token);
      throw error;
    }
  }

  async #recall(signal: AbortSignal): Promise<StoredDevice | undefined> {
    try {
      const request = this.#request('GET', '/device', await this.token(signal), signal);
      return stored(await this.#hub.http.json(request, agentDevice));
    } catch (error) {
      if (error instanceof ApiError) return undefined;
      throw error;
    }
  }

  async token(signal: AbortSignal): Promise<string> {
    if (this.#hub.time.elapsed() < this.#useUntil) return this.#token;
    this.#minting ??= this.#mint(signal).finally(() => (this.#minting = undefined));
    return await this.#minting;
  }

  dropToken(token: string): void {
    if (token === this.#token) this.#useUntil = 0;
  }

  async #mint(signal: AbortSignal): Promise<string> {
    const { http, time } = this.#hub;
    const headers = async () => this.#headers(await mintDeviceJwt(this.#dir, time));
    const path = `${AGENT_BASE_PATH}/devices/token`;
    const answer = await http.json({ method: 'POST', path, headers, signal }, tokenResponse);
    this.#token = answer.token;
    const lifetime = instantOf(answer.expires_at) - time.now();
    // Replaces a token 30 s before its expiry, but keeps it for at least 5 s, in case the robot's clock is wrong.
    this.#useUntil = time.elapsed() + Math.max(lifetime - 30_000, 5_000);
    return this.#token;
  }

  #request(method: Method, path: string, bearer: string, signal: AbortSignal): ApiRequest {
    return { method, path: AGENT_BASE_PATH + path, headers: this.#headers(bearer), signal };
  }

  #headers(bearer: string): Record<string, string> {
    const { headers, versionHeader } = this.#hub;
    return { ...headers, [versionHeader]: this.#version, authorization: `Bearer ${bearer}` };
  }

  async #send<T>(method: Method, path: string, signal: AbortSignal, send: (request: ApiRequest) => Promise<T>) {
    const token = await this.token(signal);
    try {
      return await send(this.#request(method, path, token, signal));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      this.dropToken(token);
      return await send(this.#request(method, path, await this.token(signal), signal));
    }
  }

  list(signal: AbortSignal): Promise<AgentDeployment[]> {
    return allPages((offset) =>
      this.#send('GET', `/deployments?${LIST_QUERY}&offset=${offset}`, signal, (request) =>
        this.#hub.http.json(request, agentDeploymentList),
      ),
    );
  }

  contents(instances: AgentConfigInstance[], signal: AbortSignal): Promise<Uint8Array[]> {
    return Promise.all(
      instances.map(({ id }) =>
        this.#send('GET', `/config_instances/${encodeURIComponent(id)}/content`, signal, (request) =>
          this.#hub.http.bytes(request),
        ),
      ),
    );
  }

  async report(id: string, report: DeploymentReport, signal: AbortSignal): Promise<void> {
    const { reports = (each: DeploymentReport) => each } = this.#hub.habits;
    const body = reports(report);
    if (body === undefined) return;
    await this.#send('PATCH', `/deployments/${encodeURIComponent(id)}`, signal, (request) =>
      this.#hub.http.json({ ...request, body }, agentDeployment),
    );
  }

  async announceVersion(signal: AbortSignal): Promise<void> {
    const path = `/devices/${encodeURIComponent(this.device?.device_id ?? '')}`;
    await this.#send('PATCH', path, signal, (request) =>
      this.#hub.http.json({ ...request, body: { agent_version: this.#version } }, agentDevice),
    );
  }
}

const stored = ({ id, session_id }: AgentDevice): StoredDevice => ({ device_id: id, session_id });
