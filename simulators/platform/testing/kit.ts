import { jsonOf } from '../../../harness/common/lenient.ts';
import { NAMES_BY_DIALECT, NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { type PlatformOptions, simulatePlatform } from '../index.ts';

export type Json = Record<string, unknown>;
export type Item = Json & { id: string };

interface CallOptions {
  version?: string;
  headers?: Record<string, string>;
}

export type TestPlatform = Awaited<ReturnType<typeof startPlatform>>;

export async function startPlatform(options: PlatformOptions = {}) {
  const platform = await simulatePlatform({ mqtt: false, ...options });
  const { versionHeader } = NAMES_BY_DIALECT[options.dialect ?? 'spec'];
  const call = async (method: string, path: string, body?: unknown, { version, headers }: CallOptions = {}) => {
    const response = await fetch(platform.url + path, {
      method,
      headers: {
        'x-api-key': platform.apiKey,
        [versionHeader.toLowerCase()]: version ?? NEWEST_VERSION,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: (jsonOf(text) ?? {}) as Json };
  };
  const get = (path: string, given?: CallOptions) => call('GET', path, undefined, given);
  const post = (path: string, body?: unknown, given?: CallOptions) => call('POST', path, body, given);
  const create = async (path: string, body?: unknown, given?: CallOptions): Promise<Item> => {
    const reply = await post(path, body, given);
    if (reply.status >= 300) throw new Error(`POST ${path} answered ${reply.status} ${reply.text}`);
    return reply.body as Item;
  };
  return {
    ...platform,
    call,
    get,
    post,
    create,
    items: async (path: string, given?: CallOptions) => (await get(path, given)).body['data'] as Item[],
    provisioningToken: async (): Promise<string> => String((await create('/provisioning_tokens'))['token']),
  };
}

export const refusal = (status: number, code: string, more: object = {}) => ({
  status,
  body: { error: { code, ...more } },
});

export async function walk(platform: TestPlatform, path: string): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const { body } = await platform.get(`${path}?limit=100&offset=${items.length}`);
    const page = body['data'] as Item[];
    items.push(...page);
    if (!body['has_more']) return items;
    if (page.length !== 100) throw new Error(`${path} has more items after a page of ${page.length} of 100`);
  }
}

export type Kit = Awaited<ReturnType<typeof createKit>>;

let made = 0;
export const unique = (what: string): string => `${what}-${++made}`;

/** `commit`: id of the git commit of the release. */
export async function createKit(platform: TestPlatform, filepath?: string, commit?: string) {
  const slug = unique('type');
  const type = await platform.create('/config_types', { name: slug, slug });
  const schema = await platform.create('/config_schemas', {
    config_type_ref: { id: type.id },
    language: 'jsonschema',
    format: 'json',
    documents: [{ name: 'speed.json', data: '{"type":"object","properties":{"speed":{"type":"number"}}}' }],
    ...(filepath !== undefined && { instance_slots: [{ key: 'default', name: 'Default', filepath, required: true }] }),
  });
  const instance = await platform.create('/config_instances', {
    config_schema_id: schema.id,
    content: { format: 'json', data: '{"speed":1}' },
  });
  const release = await platform.create('/releases', {
    version: unique('v1.0'),
    config_schema_ids: [schema.id],
    ...(commit !== undefined && { git_commit_ref: { id: commit } }),
  });
  return { type: type.id, schema: schema.id, instance: instance.id, release: release.id };
}

export const createDevice = async (platform: TestPlatform): Promise<string> =>
  (await platform.create('/devices', { name: unique('robot') })).id;

export const deploymentOf = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/deployments/${id}`)).body;

export const deviceOf = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/devices/${id}?expand=current_deployment&expand=current_release`)).body;

export const deploymentBody = (kit: Kit, device: string, target: 'staged' | 'deployed'): object => ({
  target_status: target,
  description: 'a test',
  release_id: kit.release,
  device_id: device,
  config_instance_ids: [kit.instance],
});

export const deploy = async (platform: TestPlatform, kit: Kit, device: string): Promise<string> =>
  (await platform.create('/deployments', deploymentBody(kit, device, 'deployed'))).id;

export const stage = async (platform: TestPlatform, kit: Kit, device: string): Promise<string> =>
  (await platform.create('/deployments', deploymentBody(kit, device, 'staged'))).id;
