/** The handler of each published operation. */

import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../harness/contract/limits.ts';
import type { PingRequest } from '../../harness/contract/lists.ts';
import {
  type CreateConfigInstance,
  DISPOSITIONS,
  type InstanceFormat,
} from '../../harness/contract/platform/config-instance.ts';
import type { CreateConfigSchema, OlderCreateConfigSchema } from '../../harness/contract/platform/config-schema.ts';
import type { CreateConfigType, UpdateConfigType } from '../../harness/contract/platform/config-type.ts';
import type { CreateDeployment } from '../../harness/contract/platform/deployment.ts';
import type { CreateDevice, UpdateDevice } from '../../harness/contract/platform/device.ts';
import type { CreateGitCommit } from '../../harness/contract/platform/git-commit.ts';
import type { CreateGroup, MoveGroup, UpdateGroup } from '../../harness/contract/platform/group.ts';
import type { ResourceKind } from '../../harness/contract/platform/operation.ts';
import type { CreateRelease } from '../../harness/contract/platform/release.ts';
import { atLeast } from '../../harness/contract/versions.ts';
import { contentOf, newConfigInstance } from './domain/config-instances.ts';
import { createConfigType, newConfigSchema, updateConfigType } from './domain/config-schemas.ts';
import { archiveDeployment, createDeployment, deployDeployment, driftsOf } from './domain/deployments.ts';
import { createDevice, updateDevice } from './domain/devices.ts';
import { find, invalid } from './domain/find.ts';
import { createGitCommit } from './domain/git-commits.ts';
import { createGroup, moveGroup, renameGroup } from './domain/groups.ts';
import { issueToken } from './domain/provisioning.ts';
import { createRelease } from './domain/releases.ts';
import {
  type Answered,
  type Call,
  created,
  get,
  type Handlers,
  param,
  readExpand,
  readFilters,
  readOrder,
  requireScope,
  shown,
  valuesOf,
} from './http/call.ts';
import type { ExpandTree } from './render.ts';
import type { Filters, Matching } from './store/order.ts';
import { slotsOf } from './versions.ts';

// The list envelope and what is in it (specification sections 2.6 and 8).

const BY_ID = [{ field: 'id', descending: false }] as const;

/** Answers a page of a collection. */
export function list(call: Call, kind: ResourceKind, narrow: Filters = {}): Answered {
  const { core, query, version } = call;
  const collection = core.store.collections[kind];
  const isValue = (field: string, text: string): boolean => collection.query({ [field]: [text] }, BY_ID).count() > 0;
  const filters = { ...readFilters(query, kind, version, isValue), ...narrow };
  const terms = core.behaviour.order(readOrder(query, kind, version));
  return page(call, kind, collection.query(filters, terms));
}

/** Answers a page of what matches. */
export function page(call: Call, kind: ResourceKind, matching: Matching): Answered {
  const { core, renderer, query, version } = call;
  const { behaviour } = core;
  const expand = readExpand(query, kind, version, true);
  let total: number | undefined;
  const window = {
    limit: behaviour.clampLimit(valuesOf(query, 'limit')),
    offset: behaviour.clampOffset(valuesOf(query, 'offset')),
    total: () => (total ??= matching.count()),
  };
  // One row beyond the page shows whether there are more.
  let after: { start: number; count: number; more: boolean } | undefined;
  const rows = behaviour.page(window, (start, count) => {
    const found = matching.slice(start, count + 1);
    after = { start, count, more: found.length > count };
    return found.slice(0, count);
  });
  const beyond =
    after?.start === window.offset && after.count === window.limit
      ? after.more
      : matching.slice(window.offset + window.limit, 1).length > 0;
  const returned = rows.length;
  const hasMore = behaviour.hasMore({ ...window, returned, beyond });
  const plain = Object.keys(expand.tree).length === 0;
  const totalCount = behaviour.totalCount({ ...window, asked: expand.totalCount, expanding: !plain, returned });
  // Appending keeps a rope of strings, which is flattened once, when it is written to the socket.
  let json = `{"object":"list","limit":${window.limit},"offset":${window.offset},"has_more":${hasMore},"data":[`;
  for (let index = 0; index < returned; index++) {
    const seq = rows[index] as number;
    if (index > 0) json += ',';
    json += plain ? renderer.text(kind, seq, version) : expanded(call, kind, seq, expand.tree);
  }
  json += totalCount === undefined ? ']}' : `],"total_count":${totalCount}}`;
  if (behaviour.envelope === undefined) return { json };
  return { json: JSON.stringify(behaviour.envelope(JSON.parse(json))) };
}

function expanded({ core, renderer, version }: Call, kind: ResourceKind, seq: number, tree: ExpandTree): string {
  const row = core.store.collections[kind].bySeq(seq);
  return row === undefined ? 'null' : JSON.stringify(renderer.value(kind, row, version, tree));
}

const MEDIA_TYPES: Record<InstanceFormat, string> = {
  json: 'application/json',
  yaml: 'application/yaml',
  jsonc: 'application/jsonc',
  xml: 'application/xml',
  text: 'text/plain; charset=utf-8',
};

export const configInstanceHandlers: Handlers = {
  listConfigInstances: (call) => list(call, 'config_instance'),
  getConfigInstance: (call) => get(call, 'config_instance'),
  createConfigInstance: async (call) =>
    created(
      call,
      'config_instance',
      await newConfigInstance(call.core, call.body as CreateConfigInstance, call.version),
    ),
  getConfigInstanceContent: download,
};

function download(call: Call): Answered {
  const disposition = valuesOf(call.query, 'disposition')[0] ?? 'inline';
  if (!(DISPOSITIONS as readonly string[]).includes(disposition)) {
    throw invalid('invalid_parameter', `disposition: accepted are ${DISPOSITIONS.join(' and ')}`, {
      accepted: DISPOSITIONS,
    });
  }
  const row = find(call.core, 'config_instance', param(call, 'config_instance_id'));
  const name = (row.filepath.split('/').pop() ?? row.id).replace(/[^\w.-]/g, '_');
  return {
    bytes: contentOf(call.core, row.id),
    headers: {
      'content-type': MEDIA_TYPES[row.content_format],
      'content-disposition': `${disposition}; filename="${name}"`,
    },
  };
}

export const deviceHandlers: Handlers = {
  listDevices: (call) => list(call, 'device'),
  getDevice: (call) => get(call, 'device'),
  createDevice: (call) => created(call, 'device', (core) => createDevice(core, call.body as CreateDevice)),
  updateDevice: (call) =>
    shown(call, 'device', (core) => updateDevice(core, param(call, 'device_id'), call.body as UpdateDevice)),
  pingDevice: ping,
  createDeviceActivationToken: (call) => {
    const { allow_reactivation = false } = (call.body ?? {}) as { allow_reactivation?: boolean };
    const bound = { deviceId: param(call, 'device_id'), reactivates: allow_reactivation };
    return { json: JSON.stringify(issueToken(call.core, bound)) };
  },
};

/** Specification sections 2.5, 4.2 and 8. */
async function ping(call: Call): Promise<Answered> {
  const { core } = call;
  const { timeout_nanos } = (call.body ?? {}) as PingRequest;
  const timeout = core.behaviour.pingTimeout(timeout_nanos);
  if (timeout === 'refuse') {
    const range = `1 to ${PING_TIMEOUT_MAXIMUM_NANOS}`;
    throw invalid('invalid_request', `timeout_nanos: accepted are ${range}`, {
      field: 'timeout_nanos',
      accepted: range,
    });
  }
  const device = find(core, 'device', param(call, 'device_id'));
  const start = process.hrtime.bigint();
  const outcome = await core.behaviour.ping(core.messenger, device.id, timeout);
  const answer = core.behaviour.pingAnswer(outcome, Number(process.hrtime.bigint() - start));
  return { status: answer.status, json: JSON.stringify(answer.body) };
}

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
