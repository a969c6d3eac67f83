/**
 * Where the platform of a fleet is, and the fleet's requests to it: releases, deployments, pings, list pages,
 * provisioning tokens.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../../../harness/common/defined.ts';
import { Redactor } from '../../../harness/common/redact.ts';
import { printable } from '../../../harness/common/terminal.ts';
import { backoffMs } from '../../../harness/common/waiting.ts';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/limits.ts';
import { shape } from '../../../harness/contract/shape.ts';
import { Type } from '../../../harness/contract/type.ts';
import {
  DIALECT_NAMES,
  type Dialect,
  NEWEST_VERSION,
  type SupportedVersion,
} from '../../../harness/contract/versions.ts';
import {
  ApiError,
  type ApiRequest,
  NetworkError,
  PlatformHttp,
  type PlatformHttpOptions,
} from '../../common/platform-http.ts';
import { Connections } from './connections.ts';

// How a platform fails a fleet, and whether the same request may succeed later.

/** The platform gave no usable 2xx answer. The message does not contain the API key. */
export class PlatformFailure extends Error {
  override name = 'PlatformFailure';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** Milliseconds that the platform asks to wait; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  constructor(status: number, message: string, options?: ErrorOptions & { retryAfterMs?: number | undefined }) {
    super(message, options);
    this.status = status;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

const PASSING = new Set([408, 425, 429]);
/** What a platform does not implement now, it will not a minute later. */
const LASTING = new Set([501, 505]);

/** Whether a busy, throttling or restarting platform answers so. 0: it did not answer. */
export const isPassing = (status: number): boolean =>
  status === 0 || PASSING.has(status) || (status >= 500 && !LASTING.has(status));

/** How platforms answer a ping that the device did not, where they do not with a 200 and a `code`. */
export const UNANSWERED: ReadonlySet<number> = new Set([408, 409, 424, 504]);

/** Nobody listens, or the certificate names somebody else: waiting changes nothing. */
const PERMANENT = /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ERR_TLS_.*|ERR_SSL_.*|.*CERT.*|UNABLE_TO_.*)$/;

/** Whether the address or the trust behind an error is wrong, as far as one attempt can tell. */
export function isPermanent(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const each: unknown[] = at instanceof AggregateError ? at.errors : [at];
    if (each.some((one) => PERMANENT.test(String((one as NodeJS.ErrnoException).code)))) return true;
  }
  return false;
}

// Calls that prepare a run are sent again while the platform is busy: no figure depends on them, and without them the
// whole run would be lost. What a scenario measures is never sent again.

/** Jitter, so that shards that were refused together do not come back together. */
const BACKOFF = { firstMs: 250, longestMs: 8000, jitter: 0.5 };
/** For one call with all its attempts. */
const LIMIT_MS = 60_000;

interface SetUpOptions {
  /** Ends the wait; the call then rejects with its reason. */
  signal: AbortSignal;
  /** Milliseconds for all attempts. Default 60 000. */
  limitMs?: number;
}

/**
 * Sends until the platform takes it. `send` gets the number of the attempt, from 0. Rejects with the PlatformFailure of
 * the last attempt: at once for one that stays, and when the next attempt would come after the limit.
 */
export async function sendUntilTaken<T>(
  send: (attempt: number) => Promise<T>,
  { signal, limitMs = LIMIT_MS }: SetUpOptions,
): Promise<T> {
  const began = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await send(attempt);
    } catch (error) {
      if (!(error instanceof PlatformFailure) || !isPassing(error.status) || isPermanent(error)) throw error;
      const pause = backoffMs(BACKOFF, attempt, Math.random) + Math.max(0, error.retryAfterMs ?? 0);
      if (performance.now() - began + pause > limitMs) throw gaveUp(error, attempt + 1, limitMs);
      await sleep(pause, undefined, { signal }).catch(() => {});
      signal.throwIfAborted();
    }
  }
}

function gaveUp(error: PlatformFailure, attempts: number, limitMs: number): PlatformFailure {
  const { status, message, retryAfterMs = 0 } = error;
  const asked = retryAfterMs > 0 ? `, and it asks to wait ${Math.ceil(retryAfterMs / 1000)} s` : '';
  const words = `${message}; sent ${attempts === 1 ? 'once' : `${attempts} times`} within ${limitMs / 1000} s${asked}`;
  return new PlatformFailure(status, words, { cause: error, retryAfterMs });
}

/** The API key travels over the channel between processes, never in arguments or the environment. */
export interface PlatformAddress {
  /** Base URL of the Platform API. */
  url: string;
  /** Base URL of the agent API, without `/agent/v1`. */
  agentUrl: string;
  /** URL of the MQTT broker. Default: the host of `agentUrl`, port 8883 with TLS, 1883 on loopback. */
  mqttUrl?: string | undefined;
  apiKey: string;
  /** Names of the API's headers. Default `spec`. */
  dialect?: Dialect;
  /** Default: the newest. */
  apiVersion?: SupportedVersion;
  /** Addresses for the robots of a region, by its name, in place of those above. */
  regions?: Readonly<Record<string, Partial<Pick<PlatformAddress, 'url' | 'agentUrl' | 'mqttUrl'>>>>;
}

/**
 * `text` of a platform as people may see it: without the API key, which it may repeat, and without control characters.
 */
export function masked(text: string, platform: Pick<PlatformAddress, 'apiKey'> | undefined): string {
  redactor.add(platform?.apiKey);
  return printable(redactor.text(text));
}

/** The same for a text that is to keep its form, such as a body. */
export function withoutKey(text: string, { apiKey }: Pick<PlatformAddress, 'apiKey'>): string {
  redactor.add(apiKey);
  return redactor.text(text);
}

/** A process loads one platform. */
const redactor = new Redactor();

interface PlatformClientOptions
  extends Pick<PlatformAddress, 'url' | 'apiKey' | 'dialect' | 'apiVersion'>,
    Pick<PlatformHttpOptions, 'onAnswer'> {
  /** Connections to the platform at most. Default 256. */
  connections?: number | undefined;
  /** Called with the milliseconds that a connection took to open. */
  onOpened?(ms: number): void;
  /** Called when a measured request has to wait, because all connections are in use. */
  onCrowded?(): void;
  /** Milliseconds for a set-up call with all its attempts. Default: a minute. */
  setUpMs?: number;
}

/** How a measured request is sent. `traceparent`: a header, where the request is traced. */
export interface Sending extends Pick<ApiRequest, 'onSent' | 'patient'> {
  traceparent?: string | undefined;
}

/** A release that can be deployed to any device, and how. */
export interface ReleaseFixture {
  releaseId: string;
  configInstanceIds: string[];
  /** A deployment is created with device, release and description alone: the platform refuses more. */
  plain?: true | undefined;
  /** A new deployment is staged, and a second request deploys it. */
  staged?: true | undefined;
}

/** How a new deployment stands. */
export interface Created {
  id: string;
  target_status?: string;
}

interface PageRequest {
  /** Default: devices. */
  collection?: string | undefined;
  limit: number;
  offset: number;
  /** What is to be there beside the items or in each. */
  expand?: string | undefined;
}

const REQUEST_TIMEOUT_MS = 60_000;

const resource = shape('resource with an id', Type.Object({ id: Type.String() }));
const created = shape('deployment', Type.Object({ id: Type.String(), target_status: Type.Optional(Type.String()) }));
const page = shape('list', Type.Object({ data: Type.Array(Type.Unknown()) }));
const pong = shape('result of a ping', Type.Object({ code: Type.String() }));
const token = shape('token', Type.Object({ token: Type.String() }));

/**
 * Every request rejects with PlatformFailure. Tokens and releases are set-up: they are sent again while the platform is
 * busy, for up to a minute. Deployments, pings and pages are measured, and sent once.
 */
export class PlatformClient {
  readonly #http: PlatformHttp;
  readonly #headers: Record<string, string>;
  readonly #apiKey: string;
  readonly #closed = new AbortController();
  readonly #patience: SetUpOptions;

  constructor(options: PlatformClientOptions) {
    const { url, apiKey, dialect = 'spec', apiVersion = NEWEST_VERSION } = options;
    const { connections: most = 256, setUpMs, onAnswer, onOpened, onCrowded } = options;
    const baseUrl = new URL(url);
    const sender = new Connections({
      origin: baseUrl.origin,
      most,
      timeoutMs: REQUEST_TIMEOUT_MS,
      ...defined({ onOpened, onCrowded }),
    });
    this.#http = new PlatformHttp({ baseUrl, sender, onAnswer });
    this.#headers = { 'x-api-key': apiKey, [DIALECT_NAMES[dialect].versionHeader]: apiVersion };
    this.#apiKey = apiKey;
    this.#patience = defined({ signal: this.#closed.signal, limitMs: setUpMs });
  }

  /** A provisioning token: `POST /provisioning_tokens`. */
  async provisioningToken(): Promise<string> {
    return (await this.#setUp(() => this.#post('/provisioning_tokens', {}, token))).token;
  }

  /**
   * Creates a release with one config instance; the config type is created on first use. `label` is the version of the
   * release and must be unique on the platform.
   */
  async createReleaseFixture(label: string, content: string): Promise<ReleaseFixture> {
    const slug = 'muster-fleet';
    const types = await this.#setUp(() => this.#get(`/config_types?slug=${slug}&limit=1`, page));
    if (types.data.length === 0) {
      const type = { name: 'Muster fleet', slug };
      await this.#setUp(() => this.#post('/config_types', type, resource)).catch((error: unknown) => {
        // Another shard, or an attempt that was not answered, has created it.
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
    // An attempt that was not answered may have used its version up.
    const versionOf = (attempt: number): string => (attempt === 0 ? label : `${label} (${attempt + 1})`);
    const release = await this.#setUp((attempt) =>
      this.#post('/releases', { version: versionOf(attempt), config_schema_ids: [schemaId] }, resource),
    );
    const instance = { config_schema_id: schemaId, content: { format: 'json', data: content } };
    const { id: instanceId } = await this.#setUp(() => this.#post('/config_instances', instance, resource));
    return { releaseId: release.id, configInstanceIds: [instanceId] };
  }

  /** Deploys a release to a device. */
  async deploy(
    deviceId: string,
    { releaseId, configInstanceIds, plain, staged }: ReleaseFixture,
    description: string,
    sending?: Sending,
  ): Promise<Created> {
    const named = { description, release_id: releaseId, device_id: deviceId };
    const more = { target_status: 'deployed', config_instance_ids: configInstanceIds };
    const deployment = plain === true ? named : { ...named, ...more };
    const made = await this.#post('/deployments', deployment, created, sending);
    if (staged === true) await this.act(made.id);
    return made;
  }

  /** Deploys a deployment that is staged. */
  async act(deploymentId: string): Promise<void> {
    await this.#post(`/deployments/${encodeURIComponent(deploymentId)}/deploy`, {}, resource);
  }

  /** Resolves with the `code` of the answer: `success`, or why the ping failed. */
  async ping(deviceId: string, sending?: Sending, nanos = PING_TIMEOUT_MAXIMUM_NANOS / 2): Promise<string> {
    const path = `/devices/${encodeURIComponent(deviceId)}/ping`;
    return (await this.#post(path, { timeout_nanos: nanos }, pong, sending)).code;
  }

  /** Reads one page of a collection; resolves with the number of items on it. */
  async listPage({ collection = 'devices', limit, offset, expand }: PageRequest, sending?: Sending): Promise<number> {
    const query = `limit=${limit}&offset=${offset}${expand === undefined ? '' : `&expand=${expand}`}`;
    return (await this.#get(`/${collection}?${query}`, page, sending)).data.length;
  }

  /** Reads one device. */
  async readDevice(deviceId: string, sending?: Sending): Promise<void> {
    await this.#get(`/devices/${encodeURIComponent(deviceId)}`, resource, sending);
  }

  /** What preflight asks, to learn what there is; sent once. */
  ask<T>(request: Pick<ApiRequest, 'method' | 'path' | 'body'>, answer: AnswerShape<T>): Promise<T> {
    return this.#send({ headers: this.#headers, ...request }, answer);
  }

  /** Requests under way, and waits between attempts, end. */
  close(): Promise<void> {
    this.#closed.abort(new PlatformFailure(0, 'the fleet stopped before the platform took its set-up'));
    return this.#http.close();
  }

  #setUp<T>(send: (attempt: number) => Promise<T>): Promise<T> {
    return sendUntilTaken(send, this.#patience);
  }

  #get<T>(path: string, answer: AnswerShape<T>, sending?: Sending): Promise<T> {
    return this.#send({ method: 'GET', path, headers: this.#headers, ...sending }, answer);
  }

  #post<T>(path: string, body: object, answer: AnswerShape<T>, sending: Sending = {}): Promise<T> {
    const { traceparent, ...more } = sending;
    const headers = traceparent === undefined ? this.#headers : { ...this.#headers, traceparent };
    return this.#send({ method: 'POST', path, headers, body, ...more }, answer);
  }

  #send<T>(request: ApiRequest, answer: AnswerShape<T>): Promise<T> {
    return this.#http.json(request, answer).catch((error) => this.#fail(error));
  }

  #fail(error: Error): never {
    const status = error instanceof ApiError ? error.status : error instanceof NetworkError ? 0 : 200;
    const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined;
    throw new PlatformFailure(status, masked(error.message, { apiKey: this.#apiKey }), { cause: error, retryAfterMs });
  }
}

type AnswerShape<T> = Parameters<typeof PlatformHttp.prototype.json<T>>[1];
