import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../../../harness/common/defined.ts';
import { Redactor } from '../../../harness/common/redact.ts';
import { printable } from '../../../harness/common/terminal.ts';
import { backoffMs, isPassing } from '../../../harness/common/waiting.ts';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/lists.ts';
import { objectShape, shape, Type } from '../../../harness/contract/shape.ts';
import {
  type Dialect,
  NAMES_BY_DIALECT,
  NEWEST_VERSION,
  type SupportedVersion,
} from '../../../harness/contract/versions.ts';
import {
  ApiError,
  type ApiRequest,
  NetworkError,
  PlatformHttp,
  type PlatformHttpOptions,
  type ShapeOf,
} from '../../common/platform-http.ts';
import { Connections } from './connections.ts';

/** No answer (`status` 0), an error status, or an unexpected body (`status` 200); the message omits the API key. */
export class PlatformFailure extends Error {
  override name = 'PlatformFailure';
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  constructor(status: number, message: string, options?: ErrorOptions & { retryAfterMs?: number | undefined }) {
    super(message, options);
    this.status = status;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** Statuses with which some platforms report that a device did not answer a ping. */
export const UNANSWERED: ReadonlySet<number> = new Set([408, 409, 424, 504]);

/** Error codes of wrong addresses or certificates, which no retry fixes. */
const PERMANENT = /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ERR_TLS_.*|ERR_SSL_.*|.*CERT.*|UNABLE_TO_.*)$/;

export function isPermanent(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const each: unknown[] = at instanceof AggregateError ? at.errors : [at];
    if (each.some((one) => PERMANENT.test(String((one as NodeJS.ErrnoException).code)))) return true;
  }
  return false;
}

const BACKOFF = { firstMs: 250, longestMs: 8000, jitter: 0.5 };

interface Patience {
  signal: AbortSignal;
  limitMs?: number;
}

/** Repeats a request while the platform is busy. Rejects with the last PlatformFailure or the signal's reason. */
export async function sendUntilTaken<T>(
  send: (attempt: number) => Promise<T>,
  { signal, limitMs = 60_000 }: Patience,
): Promise<T> {
  const began = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await send(attempt);
    } catch (error) {
      if (!(error instanceof PlatformFailure) || !isPassing(error.status) || isPermanent(error)) throw error;
      const pause = backoffMs(BACKOFF, attempt, Math.random) + Math.max(0, error.retryAfterMs ?? 0);
      if (performance.now() - began + pause > limitMs) {
        const { status, message, retryAfterMs = 0 } = error;
        const sent = attempt === 0 ? 'once' : `${attempt + 1} times`;
        const asked = retryAfterMs > 0 ? `, and it asks to wait ${Math.ceil(retryAfterMs / 1000)} s` : '';
        const words = `${message}; sent ${sent} within ${limitMs / 1000} s${asked}`;
        throw new PlatformFailure(status, words, { cause: error, retryAfterMs });
      }
      await sleep(pause, undefined, { signal }).catch(() => {});
      signal.throwIfAborted();
    }
  }
}

/** Address and API key of a platform; sent to workers as a message, which no other process can read. */
export interface PlatformAddress {
  url: string;
  /** Base URL of the agent API, without `/agent/v1`. */
  agentUrl: string;
  /** URL of the MQTT broker. Default: port 8883 with TLS on the host of `agentUrl`, or port 1883 on loopback. */
  mqttUrl?: string | undefined;
  apiKey: string;
  /** Set of header names that the platform uses. Default `spec`. */
  dialect?: Dialect;
  /** Additional headers of every request, e.g. for a gateway; the values may be secret. */
  headers?: Readonly<Record<string, string>>;
  /** Version of the Platform API. Default: the newest version. */
  apiVersion?: SupportedVersion;
}

export const masked = (text: string, platform: Pick<PlatformAddress, 'apiKey'> | undefined): string =>
  printable(withoutKey(text, platform));

export function withoutKey(text: string, platform: Pick<PlatformAddress, 'apiKey'> | undefined): string {
  redactor.add(platform?.apiKey);
  return redactor.text(text);
}

const redactor = new Redactor();

interface PlatformClientOptions
  extends Pick<PlatformAddress, 'url' | 'apiKey' | 'dialect' | 'apiVersion' | 'headers'>,
    Pick<PlatformHttpOptions, 'onAnswer'> {
  connections?: number | undefined;
  onOpened?(ms: number): void;
  onCrowded?(): void;
  setUpMs?: number;
}

export type Sending = Pick<ApiRequest, 'onSent' | 'patient'>;

export interface ReleaseFixture {
  releaseId: string;
  configInstanceIds: string[];
  /** Set for a platform that accepts only device, release and description in a new deployment. */
  plain?: true | undefined;
  /** Set for a platform that stages new deployments, which a second request must deploy. */
  staged?: true | undefined;
}

export const resource = shape('resource with an id', Type.Object({ id: Type.String() }));
const created = shape('deployment', Type.Object({ id: Type.String(), target_status: Type.Optional(Type.String()) }));
const page = shape('list', Type.Object({ data: Type.Array(Type.Unknown()) }));
const typeList = objectShape('list of config types', {
  data: Type.Array(Type.Object({ slug: Type.Optional(Type.Unknown()) })),
});
const pong = shape('result of a ping', Type.Object({ code: Type.String() }));
export const token = shape('token', Type.Object({ token: Type.String() }));

/** Methods reject with PlatformFailure. Only set-up requests are retried, for `setUpMs` (default 60,000) at most. */
export class PlatformClient {
  readonly #http: PlatformHttp;
  readonly #headers: Record<string, string>;
  readonly #apiKey: string;
  readonly #closed = new AbortController();
  readonly #patience: Patience;

  constructor(options: PlatformClientOptions) {
    const { url, apiKey, dialect = 'spec', apiVersion = NEWEST_VERSION, headers = {} } = options;
    const { connections: most = 256, setUpMs, onAnswer, onOpened, onCrowded } = options;
    const baseUrl = new URL(url);
    const sender = new Connections({
      origin: baseUrl.origin,
      most,
      timeoutMs: 60_000,
      ...defined({ onOpened, onCrowded }),
    });
    this.#http = new PlatformHttp({ baseUrl, sender, onAnswer });
    for (const value of Object.values(headers)) redactor.add(value);
    this.#headers = { ...headers, 'x-api-key': apiKey, [NAMES_BY_DIALECT[dialect].versionHeader]: apiVersion };
    this.#apiKey = apiKey;
    this.#patience = defined({ signal: this.#closed.signal, limitMs: setUpMs });
  }

  async provisioningToken(): Promise<string> {
    return (await this.#setUp(() => this.#post('/provisioning_tokens', {}, token))).token;
  }

  async createReleaseFixture(label: string, content: string): Promise<ReleaseFixture> {
    const slug = 'muster-fleet';
    const types = await this.#setUp(() => this.#get(`/config_types?slug=${slug}&limit=1`, typeList));
    if (!types.data.some((type) => type.slug === slug)) {
      const type = { name: 'Muster fleet', slug };
      await this.#setUp(() => this.#post('/config_types', type, resource)).catch((error: unknown) => {
        // Another shard or a lost attempt has created the config type.
        if (!(error instanceof PlatformFailure && error.status === 409)) throw error;
      });
    }
    const schema = {
      config_type_ref: { slug },
      language: 'jsonschema',
      format: 'json',
      instance_format: 'json',
      documents: [{ name: 'muster-fleet.json', data: '{"type":"object"}' }],
      instance_slots: [{ key: 'default', name: 'Default', filepath: '/srv/configs/muster-fleet.json', required: true }],
    };
    const { id: schemaId } = await this.#setUp(() => this.#post('/config_schemas', schema, resource));
    // Names each attempt differently, because an attempt without an answer may have created the release.
    const versionOf = (attempt: number): string => (attempt === 0 ? label : `${label} (${attempt + 1})`);
    const bodyOf = (attempt: number) => ({ version: versionOf(attempt), config_schema_ids: [schemaId] });
    const release = await this.#setUp((attempt) => this.#post('/releases', bodyOf(attempt), resource));
    const instance = { config_schema_id: schemaId, content: { format: 'json', data: content } };
    const { id: instanceId } = await this.#setUp(() => this.#post('/config_instances', instance, resource));
    return { releaseId: release.id, configInstanceIds: [instanceId] };
  }

  async deploy(deviceId: string, release: ReleaseFixture, description: string, sending?: Sending) {
    const { releaseId, configInstanceIds, plain, staged } = release;
    const named = { description, release_id: releaseId, device_id: deviceId };
    const more = { target_status: 'deployed', config_instance_ids: configInstanceIds };
    const deployment = plain === true ? named : { ...named, ...more };
    const made = await this.#post('/deployments', deployment, created, sending);
    if (staged === true) await this.act(made.id);
    return made;
  }

  async act(deploymentId: string): Promise<void> {
    await this.#post(`/deployments/${encodeURIComponent(deploymentId)}/deploy`, {}, resource);
  }

  async ping(deviceId: string, sending?: Sending, nanos = PING_TIMEOUT_MAXIMUM_NANOS / 2): Promise<string> {
    const path = `/devices/${encodeURIComponent(deviceId)}/ping`;
    return (await this.#post(path, { timeout_nanos: nanos }, pong, sending)).code;
  }

  async listPage(request: { limit: number; offset: number; expand?: string | undefined }, sending?: Sending) {
    const { limit, offset, expand } = request;
    const query = `limit=${limit}&offset=${offset}${expand === undefined ? '' : `&expand=${expand}`}`;
    return (await this.#get(`/devices?${query}`, page, sending)).data.length;
  }

  async readDevice(deviceId: string, sending?: Sending): Promise<void> {
    await this.#get(`/devices/${encodeURIComponent(deviceId)}`, resource, sending);
  }

  ask<T>(request: Pick<ApiRequest, 'method' | 'path' | 'body'>, answer: ShapeOf<T>): Promise<T> {
    return this.#send({ headers: this.#headers, ...request }, answer);
  }

  close(): Promise<void> {
    this.#closed.abort(new PlatformFailure(0, 'the fleet stopped before the platform took its set-up'));
    return this.#http.close();
  }

  #setUp<T>(send: (attempt: number) => Promise<T>): Promise<T> {
    return sendUntilTaken(send, this.#patience);
  }

  #get<T>(path: string, answer: ShapeOf<T>, sending?: Sending): Promise<T> {
    return this.#send({ method: 'GET', path, headers: this.#headers, ...sending }, answer);
  }

  #post<T>(path: string, body: object, answer: ShapeOf<T>, sending?: Sending): Promise<T> {
    return this.#send({ method: 'POST', path, headers: this.#headers, body, ...sending }, answer);
  }

  #send<T>(request: ApiRequest, answer: ShapeOf<T>): Promise<T> {
    return this.#http.json(request, answer).catch((error: Error) => {
      const other = { status: error instanceof NetworkError ? 0 : 200, retryAfterMs: undefined };
      const { status, retryAfterMs } = error instanceof ApiError ? error : other;
      const message = masked(error.message, { apiKey: this.#apiKey });
      throw new PlatformFailure(status, message, { cause: error, retryAfterMs });
    });
  }
}
