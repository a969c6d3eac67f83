/** The handler of each published operation. Resources with more than plain reads and writes have a file of their own. */
import type { CreateConfigType, UpdateConfigType } from '../../../harness/contract/platform/config-type.ts';
import type { CreateGitCommit } from '../../../harness/contract/platform/git-commit.ts';
import type { CreateGroup, MoveGroup, UpdateGroup } from '../../../harness/contract/platform/group.ts';
import type { CreateRelease } from '../../../harness/contract/platform/release.ts';
import { createConfigType, updateConfigType } from '../domain/config-types.ts';
import { createGitCommit } from '../domain/git-commits.ts';
import { createGroup, moveGroup, renameGroup } from '../domain/groups.ts';
import { issueToken } from '../domain/provisioning.ts';
import { createRelease } from '../domain/releases.ts';
import { created, get, type Handlers, param, shown } from '../http/call.ts';
import { list } from '../http/lists.ts';
import { configInstanceHandlers } from './config-instances.ts';
import { configSchemaHandlers } from './config-schemas.ts';
import { deploymentHandlers } from './deployments.ts';
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
