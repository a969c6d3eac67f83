/** Writes of section 9: each once, in every version that has it. */
import { codenamesFrom, type SupportedVersion, versionNamed } from '../../../harness/contract/versions.ts';
import { ok, refused } from '../support/requests.ts';
import { ends, parents } from './deployments.ts';
import type { Ask, Exchange } from './exchange.ts';
import { createOf, type Explorer, getOf, operation } from './explorer.ts';
import { wrongFields } from './fields.ts';
import type { KnownRecord } from './model.ts';
import { UNKNOWN } from './refusals.ts';
import type { World } from './world.ts';

/** A record alone, in one version. */
async function read(
  ex: Explorer,
  { id, kind }: KnownRecord,
  version: string,
  expand?: string,
): Promise<Exchange | undefined> {
  const get = getOf(kind);
  if (get === undefined || !ex.has(version, get)) return undefined;
  const query = expand === undefined ? [] : ([['expand', expand]] as const);
  return await ex.look({ operation: get, version, key: 'full', ids: [id], query });
}

export async function* whatVersionsBrought(ex: Explorer, world: World): AsyncGenerator<void, void> {
  const parts = [
    ...[derivedPaths, yamlContents, yamlBefore, keptSlugs, groupsOfDevices, circles, unknownReferences, replacement],
    ...[parents, ends, wrongFields, names],
  ];
  for (const part of parts) {
    if (ex.budget.isLate) return;
    await part(ex, world);
    ex.over.add(part.name);
    yield;
  }
}

/** One deployment takes the place of another: neither moves backwards. */
async function replacement(ex: Explorer, { writes, parts, devices, deployments }: World): Promise<void> {
  const device = devices.at(-1);
  if (device === undefined) return;
  for (const part of parts.slice(0, 2)) {
    let made = await writes.deployment(ex.newest, { device, ...part }, { target: 'deployed' });
    made ??= await writes.deployment(ex.newest, { device, ...part });
    if (made === undefined) return;
    deployments.push(made);
    for (const each of deployments) await read(ex, each, ex.newest);
  }
}

/** Rule 1: the server derives a path where none is given, and reuses none. */
async function derivedPaths(ex: Explorer, { writes, types: [type] }: World): Promise<void> {
  const version = versionNamed('everglades');
  if (type === undefined || !ex.versions.includes(version)) return;
  const given = await writes.schema(version, type);
  const derived = [
    await writes.schema(version, type, { hasPath: false }),
    await writes.schema(version, type, { hasPath: false }),
  ];
  const two = await writes.schema(version, type, { slots: 2 });
  for (const each of [given, two]) if (each !== undefined) await read(ex, each, version);
  const paths: unknown[] = [];
  for (const schema of derived) {
    const exchange = schema && (await read(ex, schema, version));
    if (exchange === undefined || !ok(exchange)) continue;
    const [path] = pathsIn(exchange);
    paths.push(path);
    const isDerived = typeof path === 'string' && path !== '' && !pathsOf(given).includes(path);
    const earlier = given?.members.get('instance_slots')?.seen;
    ex.hold(exchange, isDerived, { what: 'shape', kind: 'config_schema', path: '/instance_slots', earlier }, () => ({
      expected: 'a filepath that the server derives where instance_slots are omitted, and that is not reused',
      actual: path ?? 'none',
    }));
  }
}

const pathsIn = ({ json }: Exchange): unknown[] => {
  const { instance_slots: slots } = (json ?? {}) as { instance_slots?: unknown };
  return Array.isArray(slots) ? slots.map((slot) => (slot as { filepath?: unknown } | null)?.filepath) : [];
};
const pathsOf = (schema: KnownRecord | undefined): unknown[] =>
  ((schema?.members.get('instance_slots')?.value ?? []) as { filepath: unknown }[]).map(({ filepath }) => filepath);

/** Rainier: `yaml` content. A platform may take the format of instances from their schema. */
async function yamlContents(ex: Explorer, { writes, types: [type] }: World): Promise<void> {
  for (const version of codenamesFrom('rainier').map(versionNamed)) {
    if (type === undefined || !ex.versions.includes(version)) continue;
    if (!ex.model.served.has(`createConfigInstance ${version}`)) continue;
    const data = `# rates\nspeed: 1\nmarked: ${writes.names.next()}\n`;
    let made: KnownRecord | undefined;
    for (const format of ['json', 'yaml'] as const) {
      const schema = await writes.schema(version, type, { format, instanceFormat: 'yaml' });
      made ??= schema && (await writes.instance(version, schema, { format: 'yaml', data }));
    }
    const { last } = writes;
    if (made !== undefined) await read(ex, made, version, 'content');
    else if (last !== undefined && refused(last))
      ex.hold(last, false, { what: 'refused', kind: 'config_instance', path: '/content yaml' }, () => ({
        expected: `content of format yaml to be accepted in ${version}`,
        actual: last.text || last.status,
      }));
  }
}

/** Tetons does not have it. */
async function yamlBefore(ex: Explorer, { writes, types: [type] }: World): Promise<void> {
  const version = versionNamed('tetons');
  if (type === undefined || !ex.versions.includes(version)) return;
  const schema = await writes.schema(version, type, { instanceFormat: 'yaml' });
  if (schema === undefined) return;
  await writes.instance(version, schema, { format: 'yaml', data: `speed: 1\nmarked: ${writes.names.next()}\n` });
  const status = writes.last?.status ?? 0;
  ex.observed.set('platform.config-instance.yaml-before', [`yaml content in ${version}`, status]);
}

const SCRIPTS = ['Gerät Ñandú', 'робот', '日本のロボット', '🤖', 'e\u0301'];

/** A name in any script is kept, in any form of its letters, or refused. */
async function names(ex: Explorer, { writes }: World): Promise<void> {
  for (const script of SCRIPTS)
    for (const kind of ['config_type', 'device'] as const) {
      const slug = writes.names.next();
      const name = `${script} ${slug}`;
      const body = { name, ...(kind === 'config_type' && { slug }) };
      const ask = { operation: createOf(kind), version: ex.newest, key: 'full', ids: [], query: [], body } as const;
      const exchange = await ex.send(ask);
      const { id } = (exchange.json ?? {}) as { id?: string };
      const get = getOf(kind);
      const { json } =
        !ok(exchange) || get === undefined || id === undefined
          ? exchange
          : await ex.send({ ...ask, operation: get, ids: [id], body: undefined });
      const { name: shown } = (json ?? {}) as { name?: unknown };
      const isKept = typeof shown !== 'string' || shown.normalize() === name.normalize();
      ex.hold(exchange, refused(exchange) || (ok(exchange) && isKept), { what: 'name', kind, path: '/name' }, () => ({
        ...{ expected: `the name ${name}, or a 4xx`, actual: ok(exchange) ? shown : exchange.status },
      }));
      ex.model.list(kind).isStale = true;
    }
}

/** Rule 2: no request changes a slug. */
async function keptSlugs(ex: Explorer, { writes, types: [type] }: World): Promise<void> {
  const version = versionNamed('everglades');
  if (type === undefined || !ex.versions.includes(version)) return;
  for (const body of [
    { slug: writes.names.next() },
    { name: writes.names.next(), slug: writes.names.next() },
    { slug: null },
  ]) {
    type.members.delete('updated_at');
    const name = type.members.get('name');
    if ('name' in body) type.members.delete('name');
    const ask: Ask = {
      operation: operation('updateConfigType'),
      version,
      key: 'full',
      ids: [type.id],
      query: [],
      body,
    };
    const exchange = await ex.write(ask, 'config_type', {});
    if (refused(exchange) && name !== undefined) type.members.set('name', name);
    ex.hold(exchange, !ok(exchange), { what: 'accepted', kind: 'config_type', path: '/slug' }, () => ({
      expected: 'a 4xx to PATCH with slug',
      actual: exchange.status,
    }));
    await read(ex, type, version);
  }
}

/** Everglades: a device's group membership is read-only. */
async function groupsOfDevices(ex: Explorer, { writes, devices: [device], groups: [group] }: World): Promise<void> {
  if (device === undefined || group === undefined) return;
  const base = { version: ex.newest, key: 'full', query: [] } as const;
  const bodies = [
    { group_id: group.id },
    { name: writes.names.next(), group_id: group.id },
    { group: { id: group.id } },
  ];
  for (const body of bodies) {
    for (const name of ['updated_at', 'name']) device.members.delete(name);
    await ex.write({ ...base, operation: operation('updateDevice'), ids: [device.id], body }, 'device', {});
    await read(ex, device, ex.newest);
  }
  const body = { name: writes.names.next(), group_id: group.id };
  const made = await ex.write({ ...base, operation: operation('createDevice'), ids: [], body }, 'device', {});
  const { id, group_id: shown } = (made.json ?? {}) as { id?: string; group_id?: unknown };
  const isWritten = ok(made) && id !== undefined && shown === group.id;
  ex.hold(made, !isWritten, { what: 'side-effect', kind: 'device', path: '/group_id' }, () => ({
    expected: 'no group to be written with a device',
    actual: shown,
  }));
}

/** Everglades: groups form a tree after any move. */
async function circles(ex: Explorer, { groups }: World): Promise<void> {
  const parentOf = (group: KnownRecord): unknown => group.members.get('parent_id')?.value;
  const below = groups.find((group) => groups.some(({ id }) => id === parentOf(group)));
  const above = groups.find(({ id }) => below !== undefined && id === parentOf(below));
  const isShown = ex.model.presence.get('group read parent_id')?.shown.size ?? 0;
  if (below === undefined || above === undefined || isShown === 0) return;
  for (const to of [below, above]) {
    const ask = { operation: operation('moveGroup'), ids: [above.id], body: { parent_id: to.id } };
    const exchange = await ex.write({ ...ask, version: ex.newest, key: 'full', query: [] }, 'group', {});
    // A platform may accept the move, and repair the tree in its own way.
    if (ok(exchange)) for (const group of groups) group.members.delete('parent_id');
    for (const group of groups) await read(ex, group, ex.newest);
    const circle = circleFrom(ex, above.id);
    ex.hold(exchange, circle === undefined, { what: 'circle', kind: 'group', path: '/parent_id' }, () => ({
      expected: 'a tree: the parents of every group lead to a top',
      actual: circle?.join(' → '),
    }));
    ex.hold(exchange, !ok(exchange), { what: 'accepted', kind: 'group', path: '/parent_id' }, () => ({
      expected: 'a 4xx to a move below itself',
      actual: exchange.status,
    }));
  }
}

/** The groups from there on, up to one that comes twice. */
function circleFrom({ model }: Explorer, id: string): string[] | undefined {
  const path: string[] = [];
  for (let at: unknown = id; typeof at === 'string'; at = model.records.get(at)?.members.get('parent_id')?.value) {
    if (path.includes(at)) return [...path, at];
    path.push(at);
  }
  return undefined;
}

/** Ids that nothing has, alone and among others that are there. */
async function unknownReferences(
  ex: Explorer,
  { writes, parts: [part], devices: [device], types: [type] }: World,
): Promise<void> {
  const nothing = (of: KnownRecord): string => `${of.id.slice(0, of.id.lastIndexOf('_') + 1)}${UNKNOWN}`;
  const version: SupportedVersion = ex.newest;
  if (part === undefined || device === undefined || type === undefined) return;
  const {
    release,
    instances: [instance],
    schema,
  } = part;
  if (instance === undefined) return;
  const number = `v1.${writes.names.number}.0`;
  const deployment = {
    device_id: device.id,
    release_id: release.id,
    config_instance_ids: [instance.id],
    description: 'refers to something that does not exist',
    target_status: 'staged',
  };
  const content = { format: 'json', data: '{}' };
  const bodies: [string, object][] = [
    ['createRelease', { version: number, config_schema_ids: [schema.id, nothing(schema)] }],
    ['createConfigInstance', { config_schema_id: nothing(schema), content }],
    ['createDeployment', { ...deployment, device_id: nothing(device) }],
    ['createDeployment', { ...deployment, release_id: nothing(release) }],
    ['createDeployment', { ...deployment, config_instance_ids: [instance.id, nothing(instance)] }],
    ['createGroup', { name: writes.names.next(), parent_id: 'grp_0unknown0' }],
  ];
  for (const [id, body] of bodies) {
    const asked = operation(id);
    if (!ex.model.served.has(`${id} ${version}`)) continue;
    const exchange = await ex.send({ operation: asked, version, key: 'full', ids: [], query: [], body });
    ex.hold(exchange, refused(exchange), { what: 'accepted', path: ' unknown reference' }, () => ({
      expected: 'a 4xx to an id that nothing has',
      actual: exchange.status,
    }));
    if (ok(exchange) && asked.kind !== undefined) ex.model.list(asked.kind).isStale = true;
  }
}
