/** The handler of each published operation. Those of config instances and devices have their own files. */
import type { CreateConfigSchema, OlderCreateConfigSchema } from '../../../harness/contract/platform/config-schema.ts';
import type { CreateConfigType, UpdateConfigType } from '../../../harness/contract/platform/config-type.ts';
import type { CreateDeployment } from '../../../harness/contract/platform/deployment.ts';
import type { CreateGitCommit } from '../../../harness/contract/platform/git-commit.ts';
import type { CreateGroup, MoveGroup, UpdateGroup } from '../../../harness/contract/platform/group.ts';
import type { CreateRelease } from '../../../harness/contract/platform/release.ts';
import { atLeast } from '../../../harness/contract/versions.ts';
import { newConfigSchema } from '../domain/config-schemas.ts';
import { createConfigType, updateConfigType } from '../domain/config-types.ts';
import { archiveDeployment, createDeployment, deployDeployment, driftsOf } from '../domain/deployments.ts';
import { createGitCommit } from '../domain/git-commits.ts';
import { createGroup, moveGroup, renameGroup } from '../domain/groups.ts';
import { issueToken } from '../domain/provisioning.ts';
import { createRelease } from '../domain/releases.ts';
import { type Call, created, get, type Handlers, param, requireScope, shown } from '../http/call.ts';
import { list, page } from '../http/lists.ts';
import { slotsOf } from '../versions/rainier.ts';
import { configInstanceHandlers } from './config-instances.ts';
import { deviceHandlers } from './devices.ts';

const configTypeHandlers: Handlers = {
  listConfigTypes: (call) => list(call, 'config_type'),
  getConfigType: (call) => get(call, 'config_type'),
  createConfigType: (call) =>
    created(call, 'config_type', (core) => createConfigType(core, call.body as CreateConfigType)),
  updateConfigType: (call) =>
    shown(call, 'config_type', (core) =>
      updateConfigType(core, param(call, 'config_type_id'), call.body as UpdateConfigType, call.version),
    ),
};

const configSchemaHandlers: Handlers = {
  listConfigSchemas: (call) => list(call, 'config_schema'),
  getConfigSchema: (call) => get(call, 'config_schema'),
  createConfigSchema: async (call) =>
    created(call, 'config_schema', await newConfigSchema(call.core, requestedSchema(call), call.version)),
};

/** The request in the newest vocabulary. */
function requestedSchema({ body, version }: Call): CreateConfigSchema {
  if (atLeast(version, 'everglades')) return body as CreateConfigSchema;
  const { instance_filepath, ...rest } = body as OlderCreateConfigSchema;
  const slots = slotsOf(instance_filepath);
  return { ...rest, ...(slots && { instance_slots: slots }) };
}

const deploymentHandlers: Handlers = {
  listDeployments: (call) => list(call, 'deployment'),
  getDeployment: (call) => get(call, 'deployment'),
  createDeployment: (call) => {
    const request = call.body as CreateDeployment;
    requireScope(call, request.target_status === 'deployed' ? 'deployments:deploy' : 'deployments:stage');
    return created(call, 'deployment', (core) => createDeployment(core, request, call.version));
  },
  deployDeployment: (call) => shown(call, 'deployment', (core) => deployDeployment(core, param(call, 'deployment_id'))),
  archiveDeployment: (call) =>
    shown(call, 'deployment', (core) => archiveDeployment(core, param(call, 'deployment_id'))),
  getDeploymentDrifts: (call) => {
    const seqs = driftsOf(call.core, param(call, 'deployment_id')).map(({ seq }) => seq);
    return page(call, 'deployment', {
      count: () => seqs.length,
      slice: (start, count) => seqs.slice(start, start + count),
    });
  },
};

const releaseHandlers: Handlers = {
  listReleases: (call) => list(call, 'release'),
  getRelease: (call) => get(call, 'release'),
  createRelease: (call) => created(call, 'release', (core) => createRelease(core, call.body as CreateRelease)),
};

const groupHandlers: Handlers = {
  listGroups: (call) => list(call, 'group'),
  getGroup: (call) => get(call, 'group'),
  createGroup: (call) => created(call, 'group', (core) => createGroup(core, call.body as CreateGroup)),
  updateGroup: (call) =>
    shown(call, 'group', (core) => renameGroup(core, param(call, 'group_id'), call.body as UpdateGroup)),
  moveGroup: (call) =>
    shown(call, 'group', (core) => moveGroup(core, param(call, 'group_id'), (call.body as MoveGroup).parent_id)),
};

const gitCommitHandlers: Handlers = {
  listGitCommits: (call) => list(call, 'git_commit'),
  getGitCommit: (call) => get(call, 'git_commit'),
  createGitCommit: (call) => created(call, 'git_commit', (core) => createGitCommit(core, call.body as CreateGitCommit)),
};

const keyHandlers: Handlers = {
  getSelf: ({ key }) => ({ json: JSON.stringify({ object: 'principal', id: key.id, name: key.name }) }),
  createProvisioningToken: ({ core }) => ({
    json: JSON.stringify(issueToken(core)),
    status: core.behaviour.createdStatus,
  }),
};

/** By operation id. */
export const HANDLERS: Handlers = {
  ...configTypeHandlers,
  ...configSchemaHandlers,
  ...configInstanceHandlers,
  ...releaseHandlers,
  ...deploymentHandlers,
  ...deviceHandlers,
  ...groupHandlers,
  ...gitCommitHandlers,
  ...keyHandlers,
};
