import { PING_TIMEOUT_MAXIMUM_NANOS, type PingRequest } from '../../harness/contract/lists.ts';
import { DISPOSITIONS, type InstanceFormat } from '../../harness/contract/platform/config-instance.ts';
import type { CreateConfigSchema, OlderCreateConfigSchema } from '../../harness/contract/platform/config-schema.ts';
import type { CreateDeployment } from '../../harness/contract/platform/deployment.ts';
import type { ResourceKind } from '../../harness/contract/platform/operation.ts';
import { OPERATIONS } from '../../harness/contract/platform/operations.ts';
import { atLeast, type SupportedVersion } from '../../harness/contract/versions.ts';
import type { Core } from './core.ts';
import {
  contentOf,
  createConfigInstance,
  createConfigSchema,
  createConfigType,
  createGitCommit,
  createRelease,
  defaultSlot,
  updateConfigType,
} from './domain/configs.ts';
import { archiveDeployment, createDeployment, deployDeployment, driftsOf } from './domain/deployments.ts';
import { createDevice, createGroup, moveGroup, renameGroup, updateDevice } from './domain/devices.ts';
import { findRow, invalid } from './domain/find.ts';
import { issueToken } from './domain/provisioning.ts';
import { type Answered, type Call, readExpand, readFilters, readOrder, requireScope, valuesOf } from './http/call.ts';
import { knownRows, type Matching, NEWEST_FIRST, type Rows } from './store/rows.ts';

function list(call: Call, kind: ResourceKind): Answered {
  const { core, query, version } = call;
  const collection = core.store.collections[kind];
  const isValue = (field: string, text: string): boolean =>
    collection.query({ [field]: [text] }, NEWEST_FIRST).count() > 0;
  const filters = readFilters(query, kind, version, isValue);
  const terms = core.behaviour.order(readOrder(query, kind, version));
  return page(call, kind, collection.query(filters, terms));
}

function page(call: Call, kind: ResourceKind, matching: Matching): Answered {
  const { core, renderer, query, version } = call;
  const { behaviour } = core;
  const expand = readExpand(query, kind, version, true);
  let total: number | undefined;
  const window = {
    limit: behaviour.clampLimit(valuesOf(query, 'limit')),
    offset: behaviour.clampOffset(valuesOf(query, 'offset')),
    total: () => (total ??= matching.count()),
  };
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
  // Appending is fast, because V8 joins the texts only when the answer is sent.
  let json = `{"object":"list","limit":${window.limit},"offset":${window.offset},"has_more":${hasMore},"data":[`;
  for (let index = 0; index < returned; index++) {
    const seq = rows[index] as number;
    if (index > 0) json += ',';
    const row = plain ? undefined : core.store.collections[kind].bySeq(seq);
    json +=
      row === undefined
        ? renderer.text(kind, seq, version)
        : JSON.stringify(renderer.value(kind, row, version, expand.tree));
  }
  json += totalCount === undefined ? ']}' : `],"total_count":${totalCount}}`;
  if (behaviour.envelope === undefined) return { json };
  return { json: JSON.stringify(behaviour.envelope(JSON.parse(json))) };
}

const MEDIA_TYPES: Record<InstanceFormat, string> = {
  json: 'application/json',
  yaml: 'application/yaml',
  jsonc: 'application/jsonc',
  xml: 'application/xml',
  text: 'text/plain; charset=utf-8',
};

function download(call: Call): Answered {
  const disposition = valuesOf(call.query, 'disposition')[0] ?? 'inline';
  if (!(DISPOSITIONS as readonly string[]).includes(disposition)) {
    const message = `disposition: accepted are ${DISPOSITIONS.join(' and ')}`;
    throw invalid('invalid_parameter', message, { accepted: DISPOSITIONS });
  }
  const row = findRow(call.core, 'config_instance', param(call, 'config_instance'));
  const name = (row.filepath.split('/').pop() ?? row.id).replace(/[^\w.-]/g, '_');
  return {
    bytes: contentOf(call.core, row.id),
    headers: {
      'content-type': MEDIA_TYPES[row.content_format],
      'content-disposition': `${disposition}; filename="${name}"`,
    },
  };
}

/** Pings a device (sections 2.5, 4.2 and 8 of the specification). */
async function ping(call: Call): Promise<Answered> {
  const { core } = call;
  const { timeout_nanos } = (call.body ?? {}) as PingRequest;
  const timeout = core.behaviour.pingTimeout(timeout_nanos);
  if (timeout === 'refuse') {
    const accepted = `1 to ${PING_TIMEOUT_MAXIMUM_NANOS}`;
    const message = `timeout_nanos: accepted are ${accepted}`;
    throw invalid('invalid_request', message, { field: 'timeout_nanos', accepted });
  }
  const device = findRow(core, 'device', param(call, 'device'));
  const start = process.hrtime.bigint();
  const outcome = await core.behaviour.ping(core.messenger, device.id, timeout);
  const answer = core.behaviour.pingAnswer(outcome, Number(process.hrtime.bigint() - start));
  return { status: answer.status, json: JSON.stringify(answer.body) };
}

type Handler = (call: Call) => Answered | Promise<Answered>;

const param = (call: Call, kind: ResourceKind): string => call.params[`${kind}_id`] ?? '';

/** Reads expansions before `act`, so that a wrong expansion changes no data. */
function onOne<K extends ResourceKind, B>(
  kind: K,
  act: (core: Core, id: string, body: B, version: SupportedVersion) => Rows[K],
) {
  return (call: Call): Answered => {
    const { core, renderer, query, version } = call;
    const { tree } = readExpand(query, kind, version, false);
    const row = act(core, param(call, kind), call.body as B, version);
    if (Object.keys(tree).length === 0) return { json: renderer.text(kind, row.seq, version) };
    return { json: JSON.stringify(renderer.value(kind, row, version, tree)) };
  };
}

function creates<K extends ResourceKind, B>(
  kind: K,
  make: (core: Core, body: B, version: SupportedVersion) => Rows[K],
): Handler {
  const create = onOne(kind, (core, _id, body: B, version) => make(core, body, version));
  return (call) => ({ ...create(call), status: call.core.behaviour.createdStatus });
}

const READS = OPERATIONS.flatMap(
  ({ id: name, method, kind, list: isList, sub }): [name: string, handler: Handler][] => {
    if (method !== 'GET' || kind === undefined || sub) return [];
    const handler: Handler = isList ? (call) => list(call, kind) : onOne(kind, (core, id) => findRow(core, kind, id));
    return [[name, handler]];
  },
);

export const HANDLERS: Readonly<Record<string, Handler>> = {
  ...Object.fromEntries(READS),

  createConfigType: creates('config_type', createConfigType),
  updateConfigType: onOne('config_type', updateConfigType),
  createConfigSchema: creates('config_schema', (core, body: CreateConfigSchema | OlderCreateConfigSchema, version) => {
    if (atLeast(version, 'everglades')) return createConfigSchema(core, body as CreateConfigSchema, version);
    const { instance_filepath: path, ...rest } = body as OlderCreateConfigSchema;
    const slots = path !== undefined && { instance_slots: [defaultSlot(path)] };
    return createConfigSchema(core, { ...rest, ...slots }, version);
  }),
  createConfigInstance: creates('config_instance', createConfigInstance),
  getConfigInstanceContent: download,
  createRelease: creates('release', createRelease),
  createGitCommit: creates('git_commit', createGitCommit),

  createDeployment: (call) => {
    const { target_status } = call.body as CreateDeployment;
    requireScope(call, target_status === 'deployed' ? 'deployments:deploy' : 'deployments:stage');
    return creates('deployment', createDeployment)(call);
  },
  deployDeployment: onOne('deployment', deployDeployment),
  archiveDeployment: onOne('deployment', archiveDeployment),
  getDeploymentDrifts: (call) => {
    const drifts = driftsOf(call.core, param(call, 'deployment'));
    return page(call, 'deployment', knownRows(drifts.map(({ seq }) => seq)));
  },

  createDevice: creates('device', createDevice),
  updateDevice: onOne('device', updateDevice),
  pingDevice: ping,
  createDeviceActivationToken: (call) => {
    const { allow_reactivation = false } = (call.body ?? {}) as { allow_reactivation?: boolean };
    const bound = { deviceId: param(call, 'device'), reactivates: allow_reactivation };
    return { json: JSON.stringify(issueToken(call.core, bound)) };
  },
  createGroup: creates('group', createGroup),
  updateGroup: onOne('group', renameGroup),
  moveGroup: onOne('group', moveGroup),

  getSelf: ({ key }) => ({ json: JSON.stringify({ object: 'principal', id: key.id, name: key.name }) }),
  createProvisioningToken: ({ core }) => {
    return { json: JSON.stringify(issueToken(core)), status: core.behaviour.createdStatus };
  },
};
