/** The calls of the public Platform API (newest version) that drive a device from config files to a deployment. */
import { randomUUID } from 'node:crypto';
import type { HttpClient } from '../../client/http.ts';
import { cut } from '../../client/recorder.ts';
import type { Deployment } from '../../contract/device-api.ts';
import { ControlError, ControlRefused } from './control.ts';

/** A config file with its path on the device. */
export interface ConfigFile {
  filepath: string;
  content: string;
}

/** A release and instances for its slots, ready to be deployed. */
export interface ReleaseFixture {
  releaseId: string;
  instanceIds: string[];
}

/** Throws ControlError when the platform refuses a call. */
export class PlatformClient {
  readonly #http: HttpClient;
  /** The config type of all releases; shared by all that are bound to a signal. */
  readonly #made: { typeId?: string };

  constructor(http: HttpClient, made: { typeId?: string } = {}) {
    this.#http = http;
    this.#made = made;
  }

  /** The same client for as long as `signal` lasts. */
  bound(signal: AbortSignal): PlatformClient {
    return new PlatformClient(this.#http.with({ signal }), this.#made);
  }

  /** A release whose schema has one slot for each file, and the instances that fill them. No files: an empty release. */
  async createReleaseFixture(files: readonly ConfigFile[]): Promise<ReleaseFixture> {
    const version = `muster-${randomUUID()}`;
    if (files.length === 0)
      return { releaseId: await this.#create('/releases', { version, config_schema_ids: [] }), instanceIds: [] };
    this.#made.typeId ??= await this.#create('/config_types', { name: 'Muster', slug: `muster-${randomUUID()}` });
    const schemaId = await this.#create('/config_schemas', {
      config_type_ref: { id: this.#made.typeId },
      language: 'opaque',
      format: 'json',
      documents: [{ name: 'schema.json', data: JSON.stringify({ title: version }) }],
      instance_format: 'text',
      instance_slots: files.map(({ filepath }, index) => ({
        key: `f${index}`,
        name: `File ${index}`,
        filepath,
        required: true,
      })),
    });
    const [releaseId, ...instanceIds] = await Promise.all([
      this.#create('/releases', { version, config_schema_ids: [schemaId] }),
      ...files.map(({ content }, index) =>
        this.#create('/config_instances', {
          config_schema_id: schemaId,
          slot_key: `f${index}`,
          content: { format: 'text', data: content },
        }),
      ),
    ]);
    return { releaseId, instanceIds };
  }

  /** Deploys the files to a device; resolves with the id of the deployment. */
  async deploy(deviceId: string, description: string, files: readonly ConfigFile[]): Promise<string> {
    return this.deployRelease(deviceId, description, await this.createReleaseFixture(files));
  }

  /** Deploys a release to a device, also for the second time; resolves with the id of the deployment. */
  deployRelease(deviceId: string, description: string, { releaseId, instanceIds }: ReleaseFixture): Promise<string> {
    return this.#create('/deployments', {
      device_id: deviceId,
      release_id: releaseId,
      config_instance_ids: instanceIds,
      description,
      target_status: 'deployed',
    });
  }

  async deployment(id: string): Promise<Deployment> {
    const response = await this.#http.get(`/deployments/${encodeURIComponent(id)}`);
    if (response.status !== 200) throw refusal('GET /deployments', response);
    return response.json as Deployment;
  }

  /** Devices that are online, oldest first. */
  async online(): Promise<{ id: string; name: string }[]> {
    const response = await this.#http.get('/devices', { query: { limit: 100 } });
    const { data = [] } = (response.json ?? {}) as { data?: { id: string; name: string; status: string }[] };
    return data.filter((device) => device.status === 'online').reverse();
  }

  /** A token with which one agent can enrol. */
  async provisioningToken(): Promise<string> {
    const response = await this.#http.post('/provisioning_tokens', {});
    const { token } = (response.json ?? {}) as { token?: unknown };
    if (typeof token !== 'string') throw refusal('POST /provisioning_tokens', response);
    return token;
  }

  async #create(path: string, body: object): Promise<string> {
    const response = await this.#http.post(path, body);
    const { id } = (response.json ?? {}) as { id?: unknown };
    if (response.status > 299 || typeof id !== 'string') throw refusal(`POST ${path}`, response);
    return id;
  }
}

function refusal(what: string, { status, text }: { status: number; text: string }): ControlError {
  const words = `control: ${what} answered ${status}: ${cut(text, 300)}`;
  return status >= 400 && status <= 499 ? new ControlRefused(words) : new ControlError(words);
}
