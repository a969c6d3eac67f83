/** Sends each write of section 9 once in every version that defines the write. */
import { codenamesFrom, versionNamed } from '../../../harness/contract/versions.ts';
import { ok, refused } from '../support/requests.ts';
import { ends, parents } from './deployments.ts';
import type { Ask, Exchange } from './exchange.ts';
import { createOf, type Explorer, getOf, operation } from './explorer.ts';
import { unknownReferences, wrongFields } from './fields.ts';
import { circles, groupsAtOnce, groupsOfDevices } from './groups.ts';
import type { KnownRecord } from './model.ts';
import { readRecord, type World } from './world.ts';

export async function* whatVersionsBrought(ex: Explorer, world: World): AsyncGenerator<void, void> {
  const parts = [
    ...[derivedPaths, yamlContents, yamlBefore, keptSlugs, groupsOfDevices, circles, unknownReferences, replacement],
    ...[groupsAtOnce, parents, ends, wrongFields, names],
  ];
  for (const part of parts) {
    if (ex.budget.isLate) return;
    await part(ex, world);
    ex.over.add(part.name);
    yield;
  }
}

async function replacement(ex: Explorer, { writes, parts, devices, deployments }: World): Promise<void> {
  const device = devices.at(-1);
  if (device === undefined) return;
  for (const part of parts.slice(0, 2)) {
    let made = await writes.deployment(ex.newest, { device, ...part }, { target: 'deployed' });
    made ??= await writes.deployment(ex.newest, { device, ...part });
    if (made === undefined) return;
    deployments.push(made);
    for (const each of deployments) await readRecord(ex, each, ex.newest);
  }
}

/** Expects that the server derives an omitted path and reuses no earlier path (section 9, migration rule 1). */
async function derivedPaths(ex: Explorer, { writes, types: [type], parts }: World): Promise<void> {
  for (const { schema } of parts) for (const each of ex.versions) await readRecord(ex, schema, each);
  const version = versionNamed('everglades');
  if (type === undefined || !ex.versions.includes(version)) return;
  const given = await writes.schema(version, type);
  const derived = [
    await writes.schema(version, type, { hasPath: false }),
    await writes.schema(version, type, { hasPath: false }),
  ];
  const two = await writes.schema(version, type, { slots: 2 });
  for (const each of [given, two]) if (each !== undefined) await readRecord(ex, each, version);
  const paths: unknown[] = [];
  for (const schema of derived) {
    const exchange = schema && (await readRecord(ex, schema, version));
    if (exchange === undefined || !ok(exchange)) continue;
    const [path] = pathsIn(exchange);
    paths.push(path);
    const isDerived = typeof path === 'string' && path !== '' && !pathsOf(given).includes(path);
    const earlier = given?.members.get('instance_slots')?.seen;
    const about = { what: 'shape', kind: 'config_schema', path: '/instance_slots', earlier } as const;
    const expected = 'a filepath that the server derives where instance_slots are omitted, and that is not reused';
    ex.hold(exchange, isDerived, about, expected, path ?? 'none');
  }
}

const pathsIn = ({ json }: Exchange): unknown[] => {
  const { instance_slots: slots } = (json ?? {}) as { instance_slots?: unknown };
  return Array.isArray(slots) ? slots.map((slot) => (slot as { filepath?: unknown } | null)?.filepath) : [];
};
const pathsOf = (schema: KnownRecord | undefined): unknown[] =>
  ((schema?.members.get('instance_slots')?.value ?? []) as { filepath: unknown }[]).map(({ filepath }) => filepath);

/** Expects that versions since rainier accept `yaml` content, by the format of the schema or of the instance. */
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
    if (made !== undefined) await readRecord(ex, made, version, 'content');
    else if (last !== undefined && refused(last))
      ex.hold(
        last,
        false,
        { what: 'refused', kind: 'config_instance', path: '/content yaml' },
        `content of format yaml to be accepted in ${version}`,
        last.text || last.status,
      );
  }
}

/** Records the answer of tetons to `yaml` content, which tetons does not define. */
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

const RENAMES = { config_type: 'updateConfigType', device: 'updateDevice', group: 'updateGroup' } as const;

/** Expects that a platform keeps a name in any script, up to Unicode normalization, or refuses the name. */
async function names(
  ex: Explorer,
  { writes, types: [type], devices: [device], groups: [group] }: World,
): Promise<void> {
  const records = { config_type: type, device, group };
  for (const [n, script] of SCRIPTS.entries())
    for (const kind of ['config_type', 'device', 'group'] as const) {
      const record = records[kind];
      if (record === undefined) continue;
      const slug = writes.names.next();
      const name = `${script} ${slug}`;
      const change =
        n === 0
          ? { operation: createOf(kind), ids: [], body: { name, ...(kind === 'config_type' && { slug }) } }
          : { operation: operation(RENAMES[kind]), ids: [record.id], body: { name } };
      const ask = { ...change, version: ex.newest, key: 'full', query: [] } as const;
      for (const member of ['name', 'updated_at']) record.members.delete(member);
      const exchange = await ex.send(ask);
      const { id = record.id } = (exchange.json ?? {}) as { id?: string };
      const get = getOf(kind);
      const { json } =
        !ok(exchange) || get === undefined
          ? exchange
          : await ex.send({ ...ask, operation: get, ids: [id], body: undefined });
      const { name: shown } = (json ?? {}) as { name?: unknown };
      const isKept = typeof shown !== 'string' || shown.normalize() === name.normalize();
      const expected = `the name ${name}, or a 4xx`;
      const isRight = refused(exchange) || (ok(exchange) && isKept);
      ex.hold(
        exchange,
        isRight,
        { what: 'name', kind, path: '/name' },
        expected,
        ok(exchange) ? shown : exchange.status,
      );
      ex.model.list(kind).isStale = true;
    }
}

/** Expects that no request changes a slug (section 9, migration rule 2). */
async function keptSlugs(ex: Explorer, { writes, types: [type] }: World): Promise<void> {
  const version = versionNamed('everglades');
  if (type === undefined || !ex.versions.includes(version)) return;
  for (const body of [
    { slug: writes.names.next() },
    { name: writes.names.next(), slug: writes.names.next() },
    { slug: null },
    { slug: type.members.get('slug')?.value ?? writes.names.next() },
    { Slug: writes.names.next() },
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
    const expected = 'a 4xx to PATCH with slug';
    const about = { what: 'accepted', kind: 'config_type', path: '/slug' } as const;
    // Expects a refusal of `slug` only, because a platform may ignore an unknown member such as `Slug`.
    if ('slug' in body) ex.hold(exchange, !ok(exchange), about, expected, exchange.status);
    await readRecord(ex, type, version);
  }
}
