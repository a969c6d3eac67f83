/** From a config type to a release, and deployments of it. For tests. */
import type { Json, TestPlatform } from './client.ts';

export interface Kit {
  type: string;
  schema: string;
  instance: string;
  release: string;
}

let made = 0;
/** A name that is unique in this process. */
export const unique = (what: string): string => `${what}-${++made}`;

/** `filepath`: where its file goes; derived by the platform where none is given. */
export async function createKit(platform: TestPlatform, filepath?: string): Promise<Kit> {
  const slug = unique('type');
  const type = await platform.create('/config_types', { name: slug, slug });
  const schema = await platform.create('/config_schemas', {
    config_type_ref: { id: type.id },
    language: 'jsonschema',
    format: 'json',
    documents: [{ name: 'speed.json', data: '{"type":"object","properties":{"speed":{"type":"number"}}}' }],
    ...(filepath !== undefined && {
      instance_slots: [{ key: 'default', name: 'Default', filepath, required: true }],
    }),
  });
  const instance = await platform.create('/config_instances', {
    config_schema_id: schema.id,
    content: { format: 'json', data: '{"speed":1}' },
  });
  const release = await platform.create('/releases', { version: unique('v1.0'), config_schema_ids: [schema.id] });
  return { type: type.id, schema: schema.id, instance: instance.id, release: release.id };
}

export const createDevice = async (platform: TestPlatform): Promise<string> =>
  (await platform.create('/devices', { name: unique('robot') })).id;

/** The deployment as the platform shows it now. */
export const deploymentOf = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/deployments/${id}`)).body;

/** The device as the platform shows it now, with what is on it. */
export const deviceOf = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/devices/${id}?expand=current_deployment&expand=current_release`)).body;

export function deploymentBody(kit: Kit, device: string, target: 'staged' | 'deployed', more: object = {}): object {
  return {
    target_status: target,
    description: 'a test',
    release_id: kit.release,
    device_id: device,
    config_instance_ids: [kit.instance],
    ...more,
  };
}

export const deploy = async (platform: TestPlatform, kit: Kit, device: string, more: object = {}): Promise<string> =>
  (await platform.create('/deployments', deploymentBody(kit, device, 'deployed', more))).id;

export const stage = async (platform: TestPlatform, kit: Kit, device: string, more: object = {}): Promise<string> =>
  (await platform.create('/deployments', deploymentBody(kit, device, 'staged', more))).id;
