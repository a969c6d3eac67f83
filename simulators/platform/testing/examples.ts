/** A valid request for every published operation. For tests: they fail for an operation without one. */
import type { Operation } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { atLeast, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { createDevice, createKit, deploy, type Kit, stage, type TestPlatform, unique } from './kit.ts';

export interface World {
  platform: TestPlatform;
  version: SupportedVersion;
  kit: Kit;
  device: string;
  deployment: string;
  group: string;
  commit: string;
}

interface Example {
  params?: Record<string, string>;
  query?: string;
  body?: unknown;
}

export interface ExampleRequest {
  operation: Operation;
  method: Operation['method'];
  /** With its query. */
  path: string;
  body: unknown;
}

export async function createWorld(platform: TestPlatform, version: SupportedVersion): Promise<World> {
  const kit = await createKit(platform);
  const device = await createDevice(platform);
  const deployment = await deploy(platform, kit, device);
  const group = (await platform.create('/groups', { name: unique('group') })).id;
  const commit = (await platform.create('/git_commits', commitBody())).id;
  return { platform, version, kit, device, deployment, group, commit };
}

const commitBody = () => ({
  sha: (0xabcdef0 + Number(unique('1').slice(2))).toString(16),
  message: 'a commit',
  origin: 'git@github.com:example/robots.git',
});

type Make = (world: World) => Example | Promise<Example>;
const none: Make = () => ({});

const EXAMPLES: Record<string, Make> = {
  listConfigTypes: none,
  createConfigType: () => ({ body: { name: 'Motion', slug: unique('motion') } }),
  getConfigType: ({ kit }) => ({ params: { config_type_id: kit.type } }),
  updateConfigType: ({ kit }) => ({ params: { config_type_id: kit.type }, body: { name: unique('Renamed') } }),

  listConfigSchemas: none,
  createConfigSchema: ({ kit, version, commit }) => ({
    query: 'expand=documents&expand=config_type',
    body: {
      config_type_ref: { id: kit.type },
      language: 'jsonschema',
      format: 'yaml',
      documents: [{ name: 'a.yaml', data: 'type: object' }],
      git_commit: { commit_ref: { id: commit }, schema_filepaths: ['a.yaml'] },
      ...(atLeast(version, 'everglades')
        ? { instance_slots: [{ key: 'left', name: 'Left', filepath: '/srv/left.yaml', required: false }] }
        : { instance_filepath: '/srv/left.yaml' }),
    },
  }),
  getConfigSchema: ({ kit }) => ({ params: { config_schema_id: kit.schema }, query: 'expand=config_type' }),

  listConfigInstances: none,
  createConfigInstance: ({ kit, version }) => ({
    query: 'expand=content&expand=config_schema.config_type&expand=config_type',
    body: {
      config_schema_id: kit.schema,
      content: { format: 'json', data: '{"speed":2}' },
      ...(atLeast(version, 'everglades') && { slot_key: 'default' }),
    },
  }),
  getConfigInstance: ({ kit }) => ({ params: { config_instance_id: kit.instance }, query: 'expand=content' }),
  getConfigInstanceContent: ({ kit }) => ({
    params: { config_instance_id: kit.instance },
    query: 'disposition=attachment',
  }),

  listReleases: none,
  createRelease: ({ kit, commit }) => ({
    query: 'expand=config_schemas.documents',
    body: { version: unique('v2'), config_schema_ids: [kit.schema], git_commit_ref: { id: commit } },
  }),
  getRelease: ({ kit }) => ({ params: { release_id: kit.release }, query: 'expand[]=config_schemas' }),

  listDeployments: none,
  createDeployment: async ({ platform, kit }) => ({
    query: 'expand=device&expand=release.config_schemas.documents&expand=config_instances.content',
    body: {
      target_status: 'staged',
      description: '',
      release_id: kit.release,
      device_id: await createDevice(platform),
      config_instance_ids: [kit.instance],
    },
  }),
  getDeployment: ({ deployment }) => ({ params: { deployment_id: deployment }, query: 'expand=device' }),
  deployDeployment: async ({ platform, kit }) => ({
    params: { deployment_id: await stage(platform, kit, await createDevice(platform)) },
    query: 'expand=release',
  }),
  archiveDeployment: async ({ platform, kit }) => ({
    params: { deployment_id: await stage(platform, kit, await createDevice(platform)) },
  }),
  getDeploymentDrifts: async ({ platform, kit }) => {
    const device = await createDevice(platform);
    const staged = await stage(platform, kit, device);
    await deploy(platform, kit, device);
    return { params: { deployment_id: staged }, query: 'expand=total_count&expand=device' };
  },

  listDevices: none,
  createDevice: () => ({ body: { name: unique('robot') } }),
  getDevice: ({ device }) => ({ params: { device_id: device } }),
  updateDevice: async ({ platform }) => ({
    params: { device_id: await createDevice(platform) },
    body: { name: unique('renamed') },
  }),
  pingDevice: ({ device }) => ({ params: { device_id: device }, body: { timeout_nanos: 1_000_000 } }),
  createDeviceActivationToken: ({ device }) => ({ params: { device_id: device }, body: { allow_reactivation: true } }),

  listGroups: none,
  createGroup: ({ group }) => ({ body: { name: unique('group'), parent_id: group }, query: 'expand=parent' }),
  getGroup: ({ group }) => ({ params: { group_id: group }, query: 'expand=parent.parent' }),
  updateGroup: ({ group }) => ({ params: { group_id: group }, body: { name: unique('renamed') } }),
  moveGroup: async ({ platform, group }) => ({
    params: { group_id: (await platform.create('/groups', { name: unique('group') })).id },
    body: { parent_id: group },
  }),

  listGitCommits: none,
  createGitCommit: () => ({ body: commitBody() }),
  getGitCommit: ({ commit }) => ({ params: { git_commit_id: commit } }),

  createProvisioningToken: none,
  getSelf: none,
};

/** A valid request for the operation of that id. */
export async function exampleOf(id: string, world: World): Promise<ExampleRequest> {
  const operation = OPERATIONS.find((each) => each.id === id);
  const make = EXAMPLES[id];
  if (operation === undefined || make === undefined) throw new Error(`there is no example of ${id}`);
  const { params = {}, query, body } = await make(world);
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'nothing'));
  return { operation, method: operation.method, path: query === undefined ? path : `${path}?${query}`, body };
}
