/** What a fleet asks of the public Platform API: a release to roll out, deployments, pings, list pages, provisioning tokens. */
import { Agent, type Dispatcher } from 'undici';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/lists.ts';
import { DIALECT_NAMES, type Dialect, NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { networkErrorMessage } from '../../common/platform-http.ts';

/** Anything but a 2xx answer. The message holds no secret. */
export class PlatformFailure extends Error {
  override name = 'PlatformFailure';
  /** 0 when no answer came. */
  readonly status: number;
  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

export interface PlatformClientOptions {
  /** Base of the Platform API, e.g. `http://127.0.0.1:8080/beta`. */
  url: string;
  apiKey: string;
  dialect?: Dialect;
  /** Connections to the platform; requests beyond wait, and that wait counts in what is measured. Default 256. */
  connections?: number;
  ca?: string;
}

/** A release ready to be deployed to any device. */
export interface Rollable {
  releaseId: string;
  configInstanceIds: string[];
}

const REQUEST_TIMEOUT_MS = 60_000;

export class PlatformClient {
  readonly #agent: Agent;
  readonly #origin: string;
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #apiKey: string;

  constructor({ url, apiKey, dialect = 'spec', connections = 256, ca }: PlatformClientOptions) {
    const parsed = new URL(url);
    this.#origin = parsed.origin;
    this.#apiKey = apiKey;
    this.#base = parsed.pathname.replace(/\/$/, '');
    this.#headers = { 'x-api-key': apiKey, [DIALECT_NAMES[dialect].versionHeader]: NEWEST_VERSION };
    this.#agent = new Agent({
      connections,
      headersTimeout: REQUEST_TIMEOUT_MS,
      bodyTimeout: REQUEST_TIMEOUT_MS,
      ...(ca === undefined ? {} : { connect: { ca } }),
    });
  }

  /** A provisioning token: `POST /provisioning_tokens`. */
  async provisioningToken(): Promise<string> {
    return textOf(await this.#request('POST', '/provisioning_tokens', {}), 'token');
  }

  /** Config type, schema, release and config instance, of which only what is missing is made. `label` makes the version unique. */
  async makeRollable(label: string, content: string): Promise<Rollable> {
    const slug = 'muster-fleet';
    const types = await this.#request('GET', `/config_types?slug=${slug}&limit=1`);
    if (itemsOf(types).length === 0) {
      await this.#request('POST', '/config_types', { name: 'Muster fleet', slug }).catch((error: unknown) => {
        // Another shard may have made it since.
        if (!(error instanceof PlatformFailure && error.status === 409)) throw error;
      });
    }
    const schema = await this.#request('POST', '/config_schemas', {
      config_type_ref: { slug },
      language: 'jsonschema',
      format: 'json',
      instance_format: 'json',
      documents: [{ name: 'muster-fleet.json', data: '{"type":"object"}' }],
      instance_slots: [{ key: 'default', name: 'Default', filepath: '/srv/configs/muster-fleet.json', required: true }],
    });
    const release = await this.#request('POST', '/releases', {
      version: label,
      config_schema_ids: [textOf(schema, 'id')],
    });
    const instance = await this.#request('POST', '/config_instances', {
      config_schema_id: textOf(schema, 'id'),
      content: { format: 'json', data: content },
    });
    return { releaseId: textOf(release, 'id'), configInstanceIds: [textOf(instance, 'id')] };
  }

  /** Id of the new deployment. */
  async deploy(deviceId: string, { releaseId, configInstanceIds }: Rollable, description: string): Promise<string> {
    const made = await this.#request('POST', '/deployments', {
      target_status: 'deployed',
      description,
      release_id: releaseId,
      device_id: deviceId,
      config_instance_ids: configInstanceIds,
    });
    return textOf(made, 'id');
  }

  /** `code` of the answer, `success` or another. */
  async ping(deviceId: string, timeoutNanos = PING_TIMEOUT_MAXIMUM_NANOS / 2): Promise<string> {
    return textOf(await this.#request('POST', `/devices/${deviceId}/ping`, { timeout_nanos: timeoutNanos }), 'code');
  }

  /** One page of devices; the number of items on it. */
  async listDevices(limit: number, offset: number): Promise<number> {
    return itemsOf(await this.#request('GET', `/devices?limit=${limit}&offset=${offset}`)).length;
  }

  /** Id of the device of that name, or undefined. */
  async deviceNamed(name: string): Promise<string | undefined> {
    const [found] = itemsOf(await this.#request('GET', `/devices?name=${encodeURIComponent(name)}&limit=1`));
    return found === undefined ? undefined : textOf(found, 'id');
  }

  /** Id of a new device. */
  async createDevice(name: string): Promise<string> {
    return textOf(await this.#request('POST', '/devices', { name }), 'id');
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** A platform may repeat in its answer what it was sent. */
  #masked(text: string): string {
    return this.#apiKey === '' ? text : text.replaceAll(this.#apiKey, '***');
  }

  async #request(method: Dispatcher.HttpMethod, path: string, body?: object): Promise<unknown> {
    let answer: Dispatcher.ResponseData;
    let raw: string;
    try {
      answer = await this.#agent.request({
        origin: this.#origin,
        path: this.#base + path,
        method,
        headers: body === undefined ? this.#headers : { ...this.#headers, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      });
      raw = await answer.body.text();
    } catch (error) {
      throw new PlatformFailure(0, `${method} ${path}: ${networkErrorMessage(error as Error)}`, { cause: error });
    }
    if (answer.statusCode < 200 || answer.statusCode > 299) {
      throw new PlatformFailure(
        answer.statusCode,
        `${method} ${path} was answered ${answer.statusCode}: ${this.#masked(raw).slice(0, 200)}`,
      );
    }
    try {
      return JSON.parse(raw);
    } catch (error) {
      throw new PlatformFailure(answer.statusCode, `${method} ${path} was not answered with JSON`, { cause: error });
    }
  }
}

function textOf(value: unknown, field: string): string {
  const found = (value as Record<string, unknown> | null)?.[field];
  if (typeof found !== 'string') throw new PlatformFailure(200, `the platform's answer has no '${field}'`);
  return found;
}

function itemsOf(value: unknown): unknown[] {
  const items = (value as { data?: unknown } | null)?.data;
  if (!Array.isArray(items)) throw new PlatformFailure(200, "the platform's list has no 'data'");
  return items as unknown[];
}
