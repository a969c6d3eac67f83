/**
 * Section 4.2, by the conventions of HTTP and JSON: each field of what is written alone, with values that do not belong
 * there and with those that do.
 */
import { uniqueName } from '../../harness/common/names.ts';
import { pollWithin } from '../../harness/common/waiting.ts';
import { SUPPORTED_CODENAMES } from '../../harness/contract/versions.ts';
import { eachAtOnce } from '../../harness/runner/property.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType, createDevice, createdItem, createReleaseFixture, schemaBody } from './support/create.ts';
import { type Collection, type Item, readItem } from './support/lists.ts';
import {
  describeRequest,
  describeResponse,
  hasSucceeded,
  inVersion,
  NOT_SERVED,
  ok,
  refused,
  send,
  speaksAtLeast,
} from './support/requests.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '4.2', since: '2026-11-25' });

const fields = requirement({
  id: 'platform.robust.fields',
  text:
    'A field that is null or of a wrong type, wherever it stands in a body, causes no 5xx. ' +
    'A change that is refused changes nothing, and one that is accepted is shown.',
});

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** A body that the platform accepts, with names that are new each time. */
interface Creation {
  path: string;
  body(): { [name: string]: Json };
}

/** The values that replace a field: none has the type of what is there. */
const OTHERS: Record<string, Json[]> = {
  string: [null, 7, ['unheard'], {}],
  number: [null, 'unheard', []],
  boolean: [null, 'unheard', []],
  null: [7, true, [], {}],
  array: [null, 'unheard', {}, [null], [7]],
  object: [null, 'unheard', []],
};
const typeOf = (value: Json): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** Of many fields a slow platform is asked for one in so many. */
const ONE_OF_WHERE_SLOW = 8;

check(fields, { needs: ['write'] }, async (t: Platform) => {
  const requests = (await creations(t)).flatMap(({ path, body }) =>
    placesIn(body()).flatMap((place) =>
      (OTHERS[typeOf(at(body(), place))] ?? []).map((value) => ({
        path,
        place,
        body: () => put(body(), place, value),
      })),
    ),
  );
  const asked = requests.filter((_, index) => !t.session.isSlow('answer') || index % ONE_OF_WHERE_SLOW === 0);
  if (asked.length < requests.length)
    t.note(`answers are slow: ${asked.length} of ${requests.length} bodies were tried`);
  await eachAtOnce(t, asked, async ({ path, place, body: make }) => {
    const body = make();
    const response = await send(t, { method: 'POST', path, body });
    const made = createdItem(response);
    if (made?.object === 'deployment') t.state.made.add(made.id);
    t.must(ok(response) || refused(response), {
      expected: `a 4xx, or a 2xx, to POST ${path} with another ${place.join('.')}`,
      actual: describeResponse(response),
      counterexample: describeRequest('POST', path, body),
    });
  });
  // It serves on.
  await createConfigType(t);
});

/** What is created in turn before a deployment can be, each once more. */
async function creations(t: Platform): Promise<Creation[]> {
  const { type, schema, release, instance, filepath, content } = await createReleaseFixture(t);
  const device = await createDevice(t);
  const name = (): string => uniqueName('field');
  const deployment = {
    device_id: device.id,
    release_id: release.id,
    config_instance_ids: [instance.id],
    description: 'new settings',
    target_status: 'staged',
  };
  const all: Creation[] = [
    { path: '/config_types', body: () => ({ name: name(), slug: name() }) },
    { path: '/devices', body: () => ({ name: name() }) },
    {
      path: '/config_schemas',
      body: () => schemaBody(t, type.id, { filepath, instanceFormat: 'json' }) as { [name: string]: Json },
    },
    { path: '/releases', body: () => ({ version: name(), config_schema_ids: [schema.id] }) },
    {
      path: '/config_instances',
      body: () => ({ config_schema_id: schema.id, content: { format: 'json', data: content } }),
    },
    {
      path: '/deployments',
      body: () => ({ ...deployment, ...(speaksAtLeast(t, 'everglades') && { parent_id: null }) }),
    },
  ];
  if (!speaksAtLeast(t, 'everglades')) return all;
  const group = await send(t, { method: 'POST', path: '/groups', body: { name: name() } });
  return ok(group) ? [...all, { path: '/groups', body: () => ({ name: name(), parent_id: null }) }] : all;
}

type Place = readonly string[];

/** Where each value within stands, at any depth. */
function placesIn(value: Json): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]): Place[] => [
    [name],
    ...placesIn(inner).map((place) => [name, ...place]),
  ]);
}

const at = (value: Json, place: Place): Json =>
  place.reduce<Json>((inner, name) => (inner as { [name: string]: Json })[name] ?? null, value);

/** The same with another value in one place. */
function put(value: Json, [name, ...rest]: Place, other: Json): Json {
  if (name === undefined) return other;
  const copy: { [name: string]: Json } | Json[] = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as { [name: string]: Json })[name] = put((copy as { [name: string]: Json })[name] ?? null, rest, other);
  return copy;
}

/** What published platforms rename by PATCH. Groups have sequences of their own. */
const RENAMED = [
  ['config_types', createConfigType],
  ['devices', createDevice],
] as const;

/** The next name: longer, shorter, in another script, and the one that it has. */
const NAMES: readonly ((name: string) => string)[] = [
  () => `${uniqueName('a-longer-name-than-the-one-before')}`,
  () => uniqueName('n'),
  () => `Ñandú ${uniqueName('n')}`,
  (name) => name,
];

check(fields, { aspect: 'changed', needs: ['write'] }, async (t: Platform) => {
  const spoken = SUPPORTED_CODENAMES.filter((codename) => t.capabilities.has(codename));
  const versions = spoken.length === 0 ? [t] : spoken.map((codename) => inVersion(t, codename));
  for (const [collection, made] of RENAMED) {
    const item = await made(t);
    if (typeof item['name'] !== 'string') t.blocked(`set-up: a new one of /${collection} shows no name`);
    for (const versioned of versions) await mustRename(versioned, collection, item);
  }
});

async function mustRename(t: Platform, collection: Collection, { id }: Item): Promise<void> {
  const path = `/${collection}/${encodeURIComponent(id)}`;
  let { name } = await readItem(t, collection, id);
  for (const value of [...NAMES.map((next) => next(String(name))), null, 7, [], {}]) {
    const body = { name: value };
    const response = await send(t, { method: 'PATCH', path, body });
    if (NOT_SERVED.includes(response.status) && !hasSucceeded(t, 'PATCH', path))
      return t.note(`the platform has no PATCH /${collection}/{id} (${response.status})`);
    const counterexample = describeRequest('PATCH', path, body);
    t.must(ok(response) || refused(response), {
      expected: '2xx or 4xx to a change of a name',
      actual: describeResponse(response),
      counterexample,
    });
    const isText = typeof value === 'string';
    // What a name that is no text becomes, where that is accepted, is not stated.
    if (ok(response) && !isText) name = (await readItem(t, collection, id))['name'];
    else await mustShow(t, { collection, id, name: ok(response) ? value : name, counterexample });
    if (ok(response) && isText) name = value;
    t.saw('changes');
  }
}

interface Shown {
  collection: Collection;
  id: string;
  name: unknown;
  counterexample: string;
}

const READ = 'a name that reads as it was written';

/** In the end, as the specification does not say how soon a read shows what was written. */
async function mustShow(t: Platform, { collection, id, name, counterexample }: Shown): Promise<void> {
  let shown: unknown;
  const look = async (): Promise<true | undefined> => {
    shown = (await readItem(t, collection, id))['name'];
    return String(shown).normalize() === String(name).normalize() || undefined;
  };
  const waits = t.session.waits.platform;
  const wait = { timeoutMs: waits.within(READ, t.patienceMs / 2, true), firstPauseMs: 50, growth: 2, signal: t.signal };
  if ((await pollWithin(READ, look, wait)) === true) return;
  waits.timedOut(READ, true);
  t.must(false, { expected: `the name ${JSON.stringify(name)}`, actual: shown, counterexample });
}
