/** A valid request for every published operation. For tests: they fail for an operation without one. */
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { atLeast, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { createDevice, createKit, deploy, deploymentBody, stage, type TestPlatform, unique } from './kit.ts';

export type World = Awaited<ReturnType<typeof createWorld>>;

interface Example {
  params?: Record<string, string>;
  query?: string;
  body?: unknown;
}

export async function createWorld(platform: TestPlatform, version: SupportedVersion) {
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

/** Of operations that need more than the ids of the world in their path. */
const EXAMPLES: Record<string, Make> = {
  createConfigType: () => ({ body: { name: 'Motion', slug: unique('motion') } }),
  updateConfigType: () => ({ body: { name: unique('Renamed') } }),

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
  getConfigSchema: () => ({ query: 'expand=config_type' }),

  createConfigInstance: ({ kit, version }) => ({
    query: 'expand=content&expand=config_schema.config_type&expand=config_type',
    body: {
      config_schema_id: kit.schema,
      content: { format: 'json', data: '{"speed":2}' },
      ...(atLeast(version, 'everglades') && { slot_key: 'default' }),
    },
  }),
  getConfigInstance: () => ({ query: 'expand=content' }),
  getConfigInstanceContent: () => ({ query: 'disposition=attachment' }),

  createRelease: ({ kit, commit }) => ({
    query: 'expand=config_schemas.documents',
    body: { version: unique('v2'), config_schema_ids: [kit.schema], git_commit_ref: { id: commit } },
  }),
  getRelease: () => ({ query: 'expand[]=config_schemas' }),

  createDeployment: async ({ platform, kit }) => ({
    query: 'expand=device&expand=release.config_schemas.documents&expand=config_instances.content',
    body: deploymentBody(kit, await createDevice(platform), 'staged', { description: '' }),
  }),
  getDeployment: () => ({ query: 'expand=device' }),
  deployDeployment: async (world) => ({ ...(await stagedIn(world)), query: 'expand=release' }),
  archiveDeployment: stagedIn,
  getDeploymentDrifts: async (world) => {
    const { params, device } = await stagedIn(world);
    await deploy(world.platform, world.kit, device);
    return { params, query: 'expand=total_count&expand=device' };
  },

  createDevice: () => ({ body: { name: unique('robot') } }),
  updateDevice: async ({ platform }) => ({
    params: { device_id: await createDevice(platform) },
    body: { name: unique('renamed') },
  }),
  pingDevice: () => ({ body: { timeout_nanos: 1_000_000 } }),
  createDeviceActivationToken: () => ({ body: { allow_reactivation: true } }),

  createGroup: ({ group }) => ({ body: { name: unique('group'), parent_id: group }, query: 'expand=parent' }),
  getGroup: () => ({ query: 'expand=parent.parent' }),
  updateGroup: () => ({ body: { name: unique('renamed') } }),
  moveGroup: async ({ platform, group }) => ({
    params: { group_id: (await platform.create('/groups', { name: unique('group') })).id },
    body: { parent_id: group },
  }),

  createGitCommit: () => ({ body: commitBody() }),
};

/** A deployment of its own device that is staged. */
async function stagedIn({ platform, kit }: World) {
  const device = await createDevice(platform);
  return { params: { deployment_id: await stage(platform, kit, device) }, device };
}

/** A valid request for the operation of that id; its path has the query. */
export async function exampleOf(id: string, world: World) {
  const operation = OPERATIONS.find((each) => each.id === id);
  const make = EXAMPLES[id];
  if (operation === undefined || (make === undefined && operation.body !== undefined)) {
    throw new Error(`there is no example of ${id}`);
  }
  const { kit, device, deployment, group, commit } = world;
  const { params, query, body } = (await make?.(world)) ?? {};
  const ids: Record<string, string> = {
    ...{ config_type_id: kit.type, config_schema_id: kit.schema, config_instance_id: kit.instance },
    ...{ release_id: kit.release, deployment_id: deployment, device_id: device, group_id: group },
    ...{ git_commit_id: commit, ...params },
  };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? 'nothing'));
  return { operation, method: operation.method, path: query === undefined ? path : `${path}?${query}`, body };
}
