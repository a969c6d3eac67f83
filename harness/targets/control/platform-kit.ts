/** From config files to a deployment, over the public Platform API (newest version). */
import { randomUUID } from 'node:crypto';
import type { HttpClient } from '../../client/http.ts';
import { cut } from '../../client/recorder.ts';
import { ControlError } from './control.ts';

export interface KitFile {
  filepath: string;
  content: string;
}

export interface PlatformDeployment {
  id: string;
  status: string;
  activity_status: string;
  error_status: string;
  [field: string]: unknown;
}

export class PlatformKit {
  readonly #http: HttpClient;
  #typeId: Promise<string> | undefined;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** A release whose schema has one slot for each file, and the instances that fill them. No files: an empty release. */
  async release(files: readonly KitFile[]): Promise<{ releaseId: string; instanceIds: string[] }> {
    const version = `muster-${randomUUID()}`;
    if (files.length === 0)
      return { releaseId: await this.#create('/releases', { version, config_schema_ids: [] }), instanceIds: [] };
    this.#typeId ??= this.#create('/config_types', { name: 'Muster', slug: `muster-${randomUUID()}` });
    const schemaId = await this.#create('/config_schemas', {
      config_type_ref: { id: await this.#typeId },
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

  async deploy(deviceId: string, description: string, files: readonly KitFile[]): Promise<string> {
    const { releaseId, instanceIds } = await this.release(files);
    return this.#create('/deployments', {
      device_id: deviceId,
      release_id: releaseId,
      config_instance_ids: instanceIds,
      description,
      target_status: 'deployed',
    });
  }

  async deployment(id: string): Promise<PlatformDeployment> {
    const response = await this.#http.get(`/deployments/${encodeURIComponent(id)}`);
    if (response.status !== 200) throw refused('GET /deployments', response);
    return response.json as PlatformDeployment;
  }

  /** Devices that are online, oldest first. */
  async online(): Promise<{ id: string; name: string }[]> {
    const response = await this.#http.get('/devices', { query: { limit: 100 } });
    const { data = [] } = (response.json ?? {}) as { data?: { id: string; name: string; status: string }[] };
    return data.filter((device) => device.status === 'online').reverse();
  }

  async provisioningToken(): Promise<string> {
    const response = await this.#http.post('/provisioning_tokens', {});
    const { token } = (response.json ?? {}) as { token?: unknown };
    if (typeof token !== 'string') throw refused('POST /provisioning_tokens', response);
    return token;
  }

  async #create(path: string, body: object): Promise<string> {
    const response = await this.#http.post(path, body);
    const { id } = (response.json ?? {}) as { id?: unknown };
    if (response.status > 299 || typeof id !== 'string') throw refused(`POST ${path}`, response);
    return id;
  }
}

const refused = (what: string, { status, text }: { status: number; text: string }): ControlError =>
  new ControlError(`control: ${what} answered ${status}: ${cut(text, 300)}`);
