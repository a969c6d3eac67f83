/** Sends writes that versions changed (section 9), and writes with odd or wrong values (section 4.2). */
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { versionNamed, versionsFrom } from '../../../harness/contract/versions.ts';
import { ok, refused } from '../support/requests.ts';
import { ends, parents, staysAt } from './deployments.ts';
import { askFor, type Exchange, pairs } from './exchange.ts';
import { type Explorer, getOf, operation } from './explorer.ts';
import { circles, groupsAtOnce, groupsOfDevices } from './groups.ts';
import type { KnownRecord } from './model.ts';
import { UNKNOWN } from './refusals.ts';
import { readAll, readRecord, type World } from './world.ts';

export async function* whatVersionsBrought(ex: Explorer, world: World): AsyncGenerator<void, void> {
  const parts = [
    ...[derivedPaths, yamlContents, yamlBefore, keptSlugs, groupsOfDevices, circles, unknownReferences, replacement],
    ...[createdAtOnce, groupsAtOnce, parents, ends, wrongFields, names, longDescription],
  ];
  for (const part of parts) {
    if (ex.budget.isLate) return;
    await part(ex, world);
    ex.over.add(part.name);
    yield;
  }
}

async function replacement(ex: Explorer, world: World): Promise<void> {
  const { writes, parts, devices, deployments } = world;
  const device = devices.at(-1);
  if (device === undefined) return;
  let replaced: KnownRecord | undefined;
  for (const part of parts.slice(0, 2)) {
    let made = await writes.deployment(ex.newest, { device, ...part }, { target: 'deployed' });
    made ??= await writes.deployment(ex.newest, { device, ...part });
    if (made === undefined) return;
    deployments.push(made);
    for (const each of deployments) await readRecord(ex, each, ex.newest);
    if (replaced !== undefined) await staysAt(ex, world, replaced, 'archived');
    replaced = made;
  }
}

/** The server derives an omitted path and reuses none (section 9, migration rule 1). */
async function derivedPaths(ex: Explorer, { writes, types: [type], parts }: World): Promise<void> {
  for (const { schema } of parts) for (const each of ex.versions) await readRecord(ex, schema, each);
  const version = versionNamed('everglades');
  if (type === undefined || !ex.versions.includes(version)) return;
  const given = await writes.schema(version, type);
  const documents = writes.bodies.get('createConfigSchema')?.['documents'];
  const derived: (KnownRecord | undefined)[] = [];
  for (const more of [{}, {}, { documents }]) derived.push(await writes.schema(version, type, { slots: 0, ...more }));
  const two = await writes.schema(version, type, { slots: 2 });
  for (const each of [given, two]) if (each !== undefined) await readRecord(ex, each, version);
  const { value: slots, seen: earlier } = given?.members.get('instance_slots') ?? {};
  for (const schema of derived) {
    // Skips the given schema itself, with which a platform may answer equal documents.
    const exchange = schema && schema.id !== given?.id ? await readRecord(ex, schema, version) : undefined;
    if (exchange === undefined || !ok(exchange)) continue;
    const [path] = pathsIn((exchange.json as { instance_slots?: unknown } | undefined)?.instance_slots);
    const isDerived = typeof path === 'string' && path !== '' && !pathsIn(slots).includes(path);
    const expected = 'a filepath that the server derives where instance_slots are omitted, and that is not reused';
    ex.hold(exchange, isDerived, 'shape', '/instance_slots', expected, path ?? 'none', { earlier });
  }
}

const pathsIn = (slots: unknown): unknown[] =>
  Array.isArray(slots) ? slots.map((slot: { filepath?: unknown } | null) => slot?.filepath) : [];

async function yamlContents(ex: Explorer, { writes }: World): Promise<void> {
  for (const version of versionsFrom('rainier')) {
    if (!ex.versions.includes(version) || !ex.model.served.has(`createConfigInstance ${version}`)) continue;
    const data = `# rates\nspeed: 1\nmarked: ${writes.name()}\n`;
    let made: KnownRecord | undefined;
    let last: Exchange | undefined;
    for (const format of ['json', 'yaml'] as const) {
      // Makes a type for each schema, because a platform may allow one schema for each type.
      const type = await writes.configType(version);
      const schema = type && (await writes.schema(version, type, { format, instanceFormat: 'yaml' }));
      if (schema === undefined || made !== undefined) continue;
      made = await writes.instance(version, schema, { format: 'yaml', data });
      ({ last } = writes);
    }
    const query = pairs({ expand: 'content' });
    if (made !== undefined) await ex.look(askFor(getOf(made.kind), version, [made.id], { query }));
    if (last === undefined || (made === undefined && !refused(last))) continue;
    const expected = `content of format yaml to be accepted in ${version}`;
    ex.hold(last, made !== undefined, 'refused', '/content yaml', expected, last.text || last.status);
  }
}

async function yamlBefore(ex: Explorer, { writes, types: [type] }: World): Promise<void> {
  const version = versionNamed('tetons');
  if (type === undefined || !ex.versions.includes(version)) return;
  const schema = await writes.schema(version, type, { instanceFormat: 'yaml' });
  if (schema === undefined) return;
  await writes.instance(version, schema, { format: 'yaml', data: `speed: 1\nmarked: ${writes.name()}\n` });
  const status = writes.last?.status ?? 0;
  ex.observed.set('platform.config-instance.yaml-before', [`yaml content in ${version}`, status]);
}

const SCRIPTS = ['Gerät Ñandú', 'робот', '日本のロボット', '🤖', 'e\u0301'];

/** Writes names in several scripts, and polls until they are shown, because a cache of reads may last one second. */
export async function names(ex: Explorer, { writes, types, devices, groups }: World): Promise<void> {
  let timeoutMs = 1500;
  for (const [n, script] of SCRIPTS.entries())
    await Promise.all(
      [types[0], devices[0], groups[0]].map(async (record) => {
        if (record === undefined) return;
        const { kind } = record;
        const slug = writes.name();
        const name = `${script} ${slug}`;
        const isNew = n === 0;
        const body = { name, ...(isNew && kind === 'config_type' && { slug }) };
        for (const member of ['name', 'updated_at']) record.members.delete(member);
        const write = operation(`${isNew ? 'create' : 'update'}${RESOURCES[kind].name}`);
        const exchange = await ex.send(askFor(write, ex.newest, isNew ? [] : [record.id], { body }));
        const { id = record.id } = (exchange.json ?? {}) as { id?: string };
        let shown: unknown;
        const isKept = async (): Promise<boolean> => {
          const { json } = await ex.send(askFor(getOf(kind), ex.newest, [id]));
          shown = (json as { name?: unknown } | undefined)?.name;
          return typeof shown !== 'string' || shown.normalize() === name.normalize();
        };
        const isRight = ok(exchange) ? await ex.comes(`the name of ${id}`, isKept, timeoutMs) : refused(exchange);
        if (!isRight) timeoutMs = 0;
        const actual = ok(exchange) ? shown : exchange.status;
        ex.hold(exchange, isRight, 'name', '/name', `the name ${name}, or a 4xx`, actual);
        ex.model.list(kind).isStale = true;
      }),
    );
}

/** Characters beyond usual limits of 255, 500, 1000 and 1024. */
const LONG = 1100;

/** A platform keeps a long description whole (section 2.1), or refuses it. */
async function longDescription(ex: Explorer, { writes, devices: [device], parts: [part] }: World): Promise<void> {
  if (device === undefined || part === undefined) return;
  // Ends with a visible character, because a platform may trim texts.
  const description = `${`settings of ${writes.name()}`.padEnd(LONG - 1, ', and more')}.`;
  const made = await writes.deployment(ex.newest, { device, ...part }, { description });
  if (made === undefined) ex.notes.push(`a description of ${LONG} characters is refused: ${writes.last?.status}`);
  else await readRecord(ex, made, ex.newest);
}

/** No request changes a slug (section 9, migration rule 2). */
async function keptSlugs(ex: Explorer, { writes, types: [type] }: World): Promise<void> {
  const version = versionNamed('everglades');
  if (type === undefined || !ex.versions.includes(version)) return;
  for (const body of [
    { slug: writes.name() },
    { name: writes.name(), slug: writes.name() },
    { slug: null },
    { slug: type.members.get('slug')?.value ?? writes.name() },
    { Slug: writes.name() },
  ]) {
    type.members.delete('updated_at');
    const name = type.members.get('name');
    if ('name' in body) type.members.delete('name');
    const ask = askFor(operation('updateConfigType'), version, [type.id], { body });
    const exchange = await ex.write(ask);
    if (refused(exchange) && name !== undefined) type.members.set('name', name);
    // A platform may ignore an unknown member such as `Slug`.
    if ('slug' in body)
      ex.hold(exchange, !ok(exchange), 'accepted', '/slug', 'a 4xx to PATCH with slug', exchange.status);
    await readRecord(ex, type, version);
  }
}

type FieldPath = readonly string[];

const OTHERS: Readonly<Record<string, readonly unknown[]>> = {
  string: [null, 7, ['unheard'], {}],
  number: [null, 'unheard', []],
  boolean: [null, 'unheard', []],
  null: [7, true, [], {}],
  array: [null, 'unheard', {}, [null], [7]],
  object: [null, 'unheard', []],
};
const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

async function wrongFields(ex: Explorer, { writes }: World): Promise<void> {
  const wrong = [...writes.bodies].flatMap(([id, body]) =>
    placesIn(body).flatMap(({ place, value }) =>
      (OTHERS[typeOf(value)] ?? []).map((other) => ({ id, body, place, other })),
    ),
  );
  const asked = wrong.filter((_, index) => !ex.t.session.isSlow('answer') || index % 8 === 0);
  if (asked.length < wrong.length)
    ex.notes.push(`answers are slow: ${asked.length} of ${wrong.length} bodies were tried`);
  const asks = asked.map(({ id, body, place, other }) =>
    askFor(operation(id), ex.newest, [], { body: put(writes.renewed(body), place, other) }),
  );
  await readAll(ex, asks, (ask) => ex.write(ask));
}

/** Each record has an id of its own (section 2.6); deployments are left out, because one replaces another. */
async function createdAtOnce(ex: Explorer, { writes }: World): Promise<void> {
  for (const [id, body] of writes.bodies) {
    // Skips a body that `renewed` does not change, because a platform may keep equal bodies once.
    if (id === 'createDeployment' || JSON.stringify(writes.renewed(body)) === JSON.stringify(body)) continue;
    const asks = [1, 2, 3].map(() => askFor(operation(id), ex.newest, [], { body: writes.renewed(body) }));
    const made = (await Promise.all(asks.map((ask) => ex.write(ask)))).filter(ok);
    const ids = made.flatMap(({ json }) => (json as { id?: string } | undefined)?.id ?? []);
    const last = made.at(-1);
    if (last === undefined || ids.length < 2) continue;
    ex.hold(last, new Set(ids).size === ids.length, 'twice', '/id at once', 'an id for each record', ids.join());
  }
}

async function unknownReferences(ex: Explorer, { writes }: World): Promise<void> {
  const isId = (value: unknown): value is string => ex.model.records.values().some(({ id }) => id === value);
  const nothing = (id: string): string => `${id.slice(0, id.lastIndexOf('_') + 1)}${UNKNOWN}`;
  for (const [id, body] of writes.bodies)
    for (const { place, value } of placesIn(body)) {
      const ids = Array.isArray(value) ? value.filter(isId) : [];
      const [first] = ids;
      const other = first !== undefined ? [...ids, nothing(first)] : isId(value) ? nothing(value) : undefined;
      if (other === undefined || ex.budget.isLate) continue;
      const asked = askFor(operation(id), ex.newest, [], { body: put(writes.renewed(body), place, other) });
      const exchange = await ex.send(asked);
      const expected = 'a 4xx to an id that nothing has';
      // Omits the kind, because rows for one kind come before the row for references in `decides.ts`.
      const about = { kind: undefined };
      ex.hold(exchange, refused(exchange), 'accepted', ' unknown reference', expected, exchange.status, about);
      const { kind } = asked.operation;
      if (ok(exchange) && kind !== undefined) ex.model.list(kind).isStale = true;
    }
}

function placesIn(value: unknown): { place: FieldPath; value: unknown }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    { place: [name], value: inner },
    ...placesIn(inner).map((each) => ({ ...each, place: [name, ...each.place] })),
  ]);
}

function put(value: unknown, [name, ...rest]: FieldPath, other: unknown): unknown {
  if (name === undefined) return other;
  const inner = put((value as Record<string, unknown>)[name], rest, other);
  return Array.isArray(value) ? value.with(Number(name), inner) : { ...(value as object), [name]: inner };
}
