/**
 * Minimal server of the Platform API in three versions, in the order of the specification.
 * Parts marked "unspecified" are absent from the specification, and as simple as possible; the data is invented.
 */
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    /** API key with scopes, `KEY=SCOPE,SCOPE`. The specification does not say how a service issues keys. */
    key: { type: 'string', multiple: true, default: ['dev=devices:read'] },
    devices: { type: 'string', default: '25' },
  },
});

// Section 2 of the specification: resources, with the fields that section 9 adds.

interface Resource {
  readonly object: string;
  readonly id: string;
  readonly created_at: string;
}

interface Device extends Resource {
  name: string;
  status: 'online' | 'offline' | 'archived';
  /** Group of the device, which clients cannot change (section 9 of the specification). */
  readonly group_id: string | null;
}

interface Group extends Resource {
  name: string;
  parent_id: string | null;
}

interface Release extends Resource {
  version: string;
  config_schema_ids: readonly string[];
}

interface ConfigType extends Resource {
  name: string;
  slug: string;
}

interface Slot {
  filepath: string;
}

interface ConfigSchema extends Resource {
  config_type_id: string;
  instance_slots: readonly Slot[];
}

interface ConfigInstance extends Resource {
  config_schema_id: string;
  content: { format: string; data: string };
}

/** Deployment with the fields of section 2.1 and the timestamps of section 9 of the specification. */
interface Deployment extends Resource {
  description: string;
  status: Activity | Failure;
  activity_status: Activity;
  error_status: 'none' | Failure;
  target_status: Target;
  readonly device_id: string;
  readonly release_id: string;
  readonly parent_id: string | null;
  queued_at: string | null;
  deployed_at: string | null;
  archived_at: string | null;
}

// Section 2.2 of the specification: statuses of a deployment, and the rule that merges activity and error.

type Activity = 'drifted' | 'staged' | 'queued' | 'deployed' | 'removing' | 'archived';
type Failure = 'failed' | 'retrying';
type Target = 'staged' | 'deployed' | 'archived';

const merged = (activity: Activity, error: 'none' | Failure): Activity | Failure =>
  error === 'none' ? activity : error;

// Section 2.5 of the specification: ping of a device.

async function ping(device: Device, call: Call): Promise<{ code: string; round_trip_nanos: number }> {
  requireScope(call, 'devices:read');
  const begun = process.hrtime.bigint();
  const { timeout_nanos } = fields(call.body, { timeout_nanos: integerUpTo(LIMITS.timeout_nanos.maximum) });
  const answers = device.status === 'online';
  // Waits for the whole timeout of the ping, because an offline device does not answer.
  if (!answers) await sleep(timeout_nanos / 1e6);
  // All codes except `success` are unspecified.
  return { code: answers ? 'success' : 'timeout', round_trip_nanos: Number(process.hrtime.bigint() - begun) };
}

// Section 2.6 of the specification: the list envelope.

function list(items: readonly Resource[], { query, version }: Call) {
  const limit = clamped(query.get('limit'), LIMITS.limit);
  const offset = clamped(query.get('offset'), LIMITS.offset);
  const expand = expansions(query);
  return {
    object: 'list',
    limit,
    offset,
    has_more: offset + limit < items.length,
    data: items.slice(offset, offset + limit).map((item) => shown(item, version, expand)),
    // Counts items only on request, because counting is costly (section 8 of the specification, rule 4).
    ...(expand.includes('total_count') && { total_count: items.length }),
  };
}

/** Names in the parameter `expand`, written as `expand=a,b` or `expand=a&expand=b`. */
const expansions = (query: URLSearchParams): string[] => query.getAll('expand').flatMap((text) => text.split(','));

// Section 3 of the specification: states of a deployment; transitions between states are unspecified.

const now = (): string => new Date().toISOString();

function move(deployment: Deployment, activity: Activity): void {
  deployment.activity_status = activity;
  deployment.status = merged(activity, deployment.error_status);
  if (activity === 'queued') deployment.queued_at = now();
  if (activity === 'deployed') deployment.deployed_at = now();
  if (activity === 'archived') deployment.archived_at = now();
}

function deploy(deployment: Deployment): Deployment {
  if (deployment.activity_status !== 'staged') throw new Refusal(409, `${deployment.id} is not staged`);
  const device = found(store.devices, deployment.device_id);
  const replaced = targetOf(device.id);
  if (replaced !== undefined) archive(replaced);
  deployment.target_status = 'deployed';
  move(deployment, 'queued');
  if (device.status === 'online') move(deployment, 'deployed');
  return deployment;
}

function archive(deployment: Deployment): Deployment {
  if (deployment.activity_status === 'archived') throw new Refusal(409, `${deployment.id} is archived already`);
  deployment.target_status = 'archived';
  move(deployment, 'archived');
  return deployment;
}

const targetOf = (device: string): Deployment | undefined =>
  store.deployments.find((item) => item.device_id === device && item.target_status === 'deployed');

const currentOf = (device: string): Deployment | undefined =>
  store.deployments.find((item) => item.device_id === device && item.activity_status === 'deployed');

// Section 4.2 of the specification: endpoints; most paths and bodies are unspecified, but not of ping and lists.

interface Call {
  ids: readonly string[];
  query: URLSearchParams;
  body: unknown;
  version: Version;
  scopes: readonly string[];
}

interface Endpoint {
  method: string;
  /** Segments of the path below `{base_url}`; `*` stands for an id. */
  path: readonly string[];
  since: Version;
  answer: (call: Call) => unknown;
}

const endpoint = (line: string, answer: Endpoint['answer'], since: Version = TETONS): Endpoint => {
  const [method = '', path = ''] = line.split(' ');
  return { method, path: path.split('/').slice(1), since, answer };
};

const [TETONS, RAINIER, EVERGLADES] = ['2026-03-09.tetons', '2026-05-06.rainier', '2026-08-17.everglades'] as const;
type Version = typeof TETONS | typeof RAINIER | typeof EVERGLADES;

const one =
  <R extends Resource>(items: readonly R[], answer: (item: R, call: Call) => unknown = (item) => item) =>
  (call: Call) =>
    answer(found(items, call.ids[0] ?? ''), call);

const readable = (name: keyof typeof store, since: Version = TETONS): Endpoint[] => [
  endpoint(`GET /${name}`, (call) => list(store[name], call), since),
  endpoint(`GET /${name}/*`, one<Resource>(store[name]), since),
];

const endpoints = (): Endpoint[] => [
  endpoint('POST /devices/*/ping', one(store.devices, ping)),
  ...readable('devices'),
  endpoint('POST /devices', ({ body }) => added(store.devices, newDevice(fields(body, { name })))),
  endpoint('PATCH /devices/*', one(store.devices, rename)),
  ...readable('groups', EVERGLADES),
  endpoint('POST /groups', createGroup, EVERGLADES),
  endpoint('PATCH /groups/*', one(store.groups, rename), EVERGLADES),
  endpoint('POST /groups/*/move', one(store.groups, moveGroup), EVERGLADES),
  ...readable('config_types'),
  endpoint('POST /config_types', ({ body }) => added(store.config_types, newConfigType(fields(body, { name, slug })))),
  endpoint('PATCH /config_types/*', one(store.config_types, changeConfigType)),
  ...readable('config_schemas'),
  endpoint('POST /config_schemas', createConfigSchema),
  ...readable('config_instances'),
  endpoint('POST /config_instances', createConfigInstance),
  ...readable('releases'),
  endpoint('POST /releases', createRelease),
  ...readable('deployments'),
  endpoint('POST /deployments', createDeployment),
  endpoint('POST /deployments/*/deploy', one(store.deployments, deploy)),
  endpoint('POST /deployments/*/archive', one(store.deployments, archive)),
  endpoint('POST /provisioning_tokens', createProvisioningToken, RAINIER),
];

function rename(item: Device | Group, { body }: Call): Device | Group {
  item.name = fields(body, { name: optional(name) }).name ?? item.name;
  return item;
}

/** Creates a config schema; the default file path derives from the slug (section 9 of the specification, rule 1). */
function createConfigSchema({ body, version }: Call): ConfigSchema {
  const common = { config_type_ref: reference, language: text, format: text, documents: listOf(anything) };
  const given =
    version === EVERGLADES
      ? fields(body, { ...common, instance_slots: optional(listOf(slot)), instance_format: optional(text) })
      : fields(body, { ...common, instance_filepath: optional(text) });
  const type = found(store.config_types, given.config_type_ref.id);
  const filepath = ('instance_filepath' in given && given.instance_filepath) || `/srv/configs/${type.slug}`;
  const slots = ('instance_slots' in given && given.instance_slots) || [{ filepath }];
  return added(store.config_schemas, newConfigSchema(type.id, slots));
}

function createConfigInstance({ body, version }: Call): ConfigInstance {
  const content = (value: unknown) => fields(value, { format: formatIn(version), data: text });
  const given = fields(body, { config_schema_id: text, content });
  return added(
    store.config_instances,
    newConfigInstance(found(store.config_schemas, given.config_schema_id).id, given.content),
  );
}

function createRelease({ body }: Call): Release {
  const given = fields(body, { version: text, config_schema_ids: listOf(text) });
  const schemas = given.config_schema_ids.map((id) => found(store.config_schemas, id).id);
  return added(store.releases, newRelease(given.version, schemas));
}

function createDeployment({ body }: Call): Deployment {
  const given = fields(body, {
    device_id: text,
    release_id: text,
    description: text,
    config_instance_ids: optional(listOf(text)),
    target_status: optional((value) => oneOf(value, ['staged', 'deployed'])),
    parent_id: optional(nullable(text)),
  });
  const device = found(store.devices, given.device_id);
  const release = found(store.releases, given.release_id);
  for (const id of given.config_instance_ids ?? []) found(store.config_instances, id);
  const target = targetOf(device.id);
  // Refuses `null` if there is a target, because `null` asserts the opposite (section 9 of the specification, rule 3).
  if (given.parent_id === null && target !== undefined) throw new Refusal(409, `the target is ${target.id}`);
  if (typeof given.parent_id === 'string') found(store.deployments, given.parent_id);
  const made = added(store.deployments, newDeployment(device, release, given.description, target?.id ?? null));
  return given.target_status === 'deployed' ? deploy(made) : made;
}

// Section 5 of the specification: authentication by API keys.

const keys = new Map(
  options.key.map((line) => {
    const [key, scopes = ''] = line.split('=');
    return [key, scopes.split(',')];
  }),
);

function scopesOf(key: string | string[] | undefined): readonly string[] {
  const scopes = keys.get(String(key));
  if (scopes === undefined) throw new Refusal(401, 'X-API-Key is missing or unknown');
  return scopes;
}

/** Refuses a call without the scope; ping requires `devices:read`, all other scopes are unspecified. */
function requireScope({ scopes }: Call, scope: string): void {
  if (!scopes.includes(scope)) throw new Refusal(403, `this key has no ${scope}`);
}

// Section 7 of the specification: errors; their statuses and bodies are unspecified.

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function found<R extends Resource>(items: readonly R[], id: string): R {
  const item = items.find((each) => each.id === id);
  if (item === undefined) throw new Refusal(404, 'nothing has that id');
  return item;
}

type Reader<T> = (value: unknown) => T;
type Read<R> = { [K in keyof R]: R[K] extends Reader<infer T> ? T : never };

/** Reads the fields of a body; refuses unknown fields, because clients would expect an effect. */
function fields<R extends Record<string, Reader<unknown>>>(body: unknown, readers: R): Read<R> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal(400, 'not a JSON object');
  const unknown = Object.keys(body).filter((field) => !Object.hasOwn(readers, field));
  if (unknown.length > 0) throw new Refusal(400, `not accepted: ${unknown.join(', ')}`);
  const given = body as Record<string, unknown>;
  return Object.fromEntries(Object.entries(readers).map(([field, read]) => [field, read(given[field])])) as Read<R>;
}

const anything: Reader<unknown> = (value) => value;

const text: Reader<string> = (value) => {
  if (typeof value !== 'string') throw new Refusal(400, 'not a string where one belongs');
  return value;
};

const MOST_CHARACTERS = 128;
const name: Reader<string> = (value) => {
  const given = text(value);
  if (given === '' || given.length > MOST_CHARACTERS) throw new Refusal(400, `1 to ${MOST_CHARACTERS} characters`);
  return given;
};
const slug = name;

const optional =
  <T>(read: Reader<T>): Reader<T | undefined> =>
  (value) =>
    value === undefined ? undefined : read(value);

const nullable =
  <T>(read: Reader<T>): Reader<T | null> =>
  (value) =>
    value === null ? null : read(value);

const listOf =
  <T>(read: Reader<T>): Reader<T[]> =>
  (value) => {
    if (!Array.isArray(value)) throw new Refusal(400, 'not an array where one belongs');
    return value.map(read);
  };

function oneOf<T extends string>(value: unknown, all: readonly T[]): T {
  const known = all.find((each) => each === value);
  if (known === undefined) throw new Refusal(400, `one of ${all.join(', ')}`);
  return known;
}

const integerUpTo =
  (maximum: number): Reader<number> =>
  (value) => {
    const isValid = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maximum;
    if (!isValid) throw new Refusal(400, `an integer from 0 to ${maximum}`);
    return value;
  };

const reference = (value: unknown) => fields(value, { id: text });

/** Reads a slot of a config schema, of which the specification defines only the path. */
const slot = (value: unknown): Slot => {
  const given = value as Slot | null;
  text(given?.filepath);
  return given as Slot;
};

// Section 8 of the specification: limits.

const LIMITS = {
  limit: { otherwise: 10, minimum: 1, maximum: 100 },
  offset: { otherwise: 0, minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  timeout_nanos: { maximum: 10_000_000_000 },
} as const;

/** Value of a parameter: the nearest valid number if out of range, the default if missing or no integer. */
function clamped(given: string | null, { otherwise, minimum, maximum }: (typeof LIMITS)['limit' | 'offset']): number {
  if (given === null || !/^[+-]?\d+$/.test(given)) return otherwise;
  return Math.min(maximum, Math.max(minimum, Number(given)));
}

// Section 9 of the specification: versions, oldest first, and the shape of items in each version.

const VERSIONS: readonly Version[] = [TETONS, RAINIER, EVERGLADES];

/** Version that a request names; without one, the newest version (unspecified). */
function versionOf(header: string | string[] | undefined): Version {
  if (header === undefined) return EVERGLADES;
  const version = VERSIONS.find((each) => each === header);
  if (version === undefined) throw new Refusal(400, `Service-Version is one of ${VERSIONS.join(', ')}`);
  return version;
}

const isIn = (since: Version, version: Version): boolean => VERSIONS.indexOf(version) >= VERSIONS.indexOf(since);

function shown(item: Resource, version: Version, expand: readonly string[] = []): object {
  if (item.object === 'device') return shownDevice(item as Device, version, expand);
  if (item.object === 'deployment') return shownDeployment(item as Deployment, version);
  if (item.object === 'config_schema') return shownSchema(item as ConfigSchema, version);
  return item;
}

/** Shape of a device: before everglades without group and status `archived`, before rainier without expansions. */
function shownDevice(device: Device, version: Version, expand: readonly string[]): object {
  const { group_id, ...rest } = device;
  const older = { ...rest, status: device.status === 'archived' ? 'offline' : device.status };
  const now = version === EVERGLADES ? device : older;
  if (version === TETONS) return now;
  const deployment = currentOf(device.id);
  const release = store.releases.find(({ id }) => id === deployment?.release_id);
  return {
    ...now,
    ...(expand.includes('current_deployment') && {
      current_deployment: deployment === undefined ? null : shown(deployment, version),
    }),
    ...(expand.includes('current_release') && { current_release: release ?? null }),
  };
}

/** Shape of a deployment: before everglades without timestamps and `parent_id`, before rainier without `removing`. */
function shownDeployment(deployment: Deployment, version: Version): object {
  if (version === EVERGLADES) return deployment;
  const { parent_id, queued_at, deployed_at, archived_at, ...older } = deployment;
  if (version === RAINIER || older.activity_status !== 'removing') return older;
  return { ...older, activity_status: 'deployed', status: merged('deployed', older.error_status) };
}

function shownSchema(schema: ConfigSchema, version: Version): object {
  if (version === EVERGLADES) return schema;
  const { instance_slots, ...rest } = schema;
  return { ...rest, instance_filepath: instance_slots[0]?.filepath };
}

/** Reads a format: `json`, and since the version rainier also `yaml`; further formats are unspecified. */
const formatIn =
  (version: Version): Reader<string> =>
  (value) =>
    oneOf(value, isIn(RAINIER, version) ? ['json', 'yaml'] : ['json']);

/** Changes a config type; since everglades, clients cannot change the slug (section 9 of the specification, rule 2). */
function changeConfigType(type: ConfigType, { body, version }: Call): ConfigType {
  const renamed = { name: optional(name) };
  const changes =
    version === EVERGLADES
      ? { slug: type.slug, ...fields(body, renamed) }
      : fields(body, { ...renamed, slug: optional(slug) });
  type.name = changes.name ?? type.name;
  type.slug = changes.slug ?? type.slug;
  return type;
}

function createGroup({ body }: Call): Group {
  const { parent_id, ...given } = fields(body, { name, parent_id: optional(nullable(text)) });
  if (typeof parent_id === 'string') found(store.groups, parent_id);
  return added(store.groups, newGroup(given.name, parent_id ?? null));
}

function moveGroup(group: Group, { body }: Call): Group {
  const { parent_id } = fields(body, { parent_id: nullable(text) });
  for (let above = parent_id; above !== null; above = found(store.groups, above).parent_id)
    if (above === group.id) throw new Refusal(409, 'a group is not below itself');
  group.parent_id = parent_id;
  return group;
}

/** Creates a provisioning token, which exists since the version rainier; the use of tokens is unspecified. */
function createProvisioningToken(): object {
  return { token: randomBytes(24).toString('base64url'), expires_at: new Date(Date.now() + 3_600_000).toISOString() };
}

let made = 0;
function record<K extends string>(object: K, prefix: string, created_at = now()) {
  made += 1;
  return { object, id: `${prefix}_${made}`, created_at };
}

const newDevice = (
  { name, status = 'offline', group_id = null }: Partial<Device> & Pick<Device, 'name'>,
  at?: string,
): Device => ({ ...record('device', 'dvc', at), name, status, group_id });

const newGroup = (name: string, parent_id: string | null, at?: string): Group => ({
  ...record('group', 'grp', at),
  name,
  parent_id,
});

const newRelease = (version: string, config_schema_ids: readonly string[], at?: string): Release => ({
  ...record('release', 'rls', at),
  version,
  config_schema_ids,
});

const newConfigType = (given: Pick<ConfigType, 'name' | 'slug'>, at?: string): ConfigType => ({
  ...record('config_type', 'cfg_typ', at),
  ...given,
});

const newConfigSchema = (config_type_id: string, instance_slots: readonly Slot[], at?: string): ConfigSchema => ({
  ...record('config_schema', 'cfg_sch', at),
  config_type_id,
  instance_slots,
});

const newConfigInstance = (
  config_schema_id: string,
  content: ConfigInstance['content'],
  at?: string,
): ConfigInstance => ({ ...record('config_instance', 'cfg_inst', at), config_schema_id, content });

const newDeployment = (
  device: Device,
  release: Release,
  description: string,
  parent_id: string | null,
  at?: string,
): Deployment => ({
  ...record('deployment', 'dpl', at),
  description,
  status: 'staged',
  activity_status: 'staged',
  error_status: 'none',
  target_status: 'staged',
  device_id: device.id,
  release_id: release.id,
  parent_id,
  queued_at: null,
  deployed_at: null,
  archived_at: null,
});

function added<R extends Resource>(items: R[], item: R): R {
  items.push(item);
  return item;
}

const START = Date.parse('2026-09-01T08:00:00Z');
const at = (minute: number): string => new Date(START + minute * 60_000).toISOString();
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const nth = <T>(items: readonly T[], index: number): T => items[index % items.length] as T;

/** Invents the data: most lists have several pages, and each status occurs. */
function seeded(count: number) {
  const groups = many(3, (n) => newGroup(`hall ${n}`, null, at(n)));
  const config_types = many(4, (n) => newConfigType({ name: `Type ${n}`, slug: `type-${n}` }, at(n)));
  const config_schemas = config_types.map(({ id, slug }, n) =>
    newConfigSchema(id, [{ filepath: `/etc/robot/${slug}.yaml` }], at(n)),
  );
  const releases = many(12, (n) => newRelease(`1.${n}.0`, [nth(config_schemas, n).id], at(n)));
  const config_instances = many(count, (n) =>
    newConfigInstance(nth(config_schemas, n).id, { format: 'yaml', data: `rate: ${n}\n` }, at(n)),
  );
  const statuses = ['online', 'offline', 'online', 'archived', 'online'] as const;
  const devices = many(count, (n) =>
    newDevice({ name: `robot ${n}`, status: nth(statuses, n), group_id: nth(groups, n).id }, at(n)),
  );
  const states = [
    ['archived', 'none', 'archived'],
    ['archived', 'failed', 'archived'],
    ['removing', 'none', 'archived'],
    ['queued', 'retrying', 'deployed'],
    ['deployed', 'none', 'deployed'],
  ] as const;
  const deployments = devices.map((device, n): Deployment => {
    const [activity_status, error_status, target_status] = nth(states, n);
    return {
      ...newDeployment(device, nth(releases, n), `settings of ${device.name}`, null, at(100 + n)),
      status: merged(activity_status, error_status),
      activity_status,
      error_status,
      target_status,
      queued_at: at(101 + n),
      deployed_at: activity_status === 'queued' ? null : at(102 + n),
      archived_at: activity_status === 'archived' ? at(103 + n) : null,
    };
  });
  return { devices, groups, config_types, config_schemas, config_instances, releases, deployments };
}

const store = seeded(Number(options.devices));

// HTTP server; the path of `{base_url}` contains `beta` (section 9 of the specification).

const ENDPOINTS = endpoints();

async function answerTo(request: http.IncomingMessage): Promise<unknown> {
  const scopes = scopesOf(request.headers['x-api-key']);
  const version = versionOf(request.headers['service-version']);
  const [path = '', ...query] = (request.url ?? '').replace(/^https?:\/\/[^/?]*/i, '').split('?');
  const [, base, ...segments] = path.split('/');
  const there = ENDPOINTS.filter(
    (each) =>
      base === 'beta' &&
      isIn(each.since, version) &&
      each.path.length === segments.length &&
      each.path.every((segment, n) => segment === '*' || segment === segments[n]),
  );
  if (there.length === 0) throw new Refusal(404, 'nothing has that path');
  const asked = there.find(({ method }) => method === request.method);
  if (asked === undefined) throw new Refusal(405, `the path takes ${there.map(({ method }) => method).join(', ')}`);
  const ids = segments.filter((_, n) => asked.path[n] === '*').map(decoded);
  const call: Call = { ids, query: new URLSearchParams(query.join('?')), body: await bodyOf(request), version, scopes };
  const answer = await asked.answer(call);
  return isResource(answer) ? shown(answer, version, expansions(call.query)) : answer;
}

const isResource = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && 'created_at' in value;

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(400, 'the path is not UTF-8');
  }
}

async function bodyOf(request: http.IncomingMessage): Promise<unknown> {
  const bytes = Buffer.concat(await request.toArray());
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
}

const server = http.createServer(async (request, response) => {
  const send = (status: number, body: unknown): void =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  try {
    send(200, await answerTo(request));
  } catch (error) {
    const status = error instanceof Refusal ? error.status : 500;
    send(status, { error: { message: String(error) } });
  }
});
server.listen(Number(options.port), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ ready: true, url: `http://127.0.0.1:${port}/beta` })}\n`);
});
