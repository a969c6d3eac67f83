/**
 * Section 4.2, by the conventions of HTTP and JSON: each field of what is written alone, with values that do not belong
 * there and with those that do.
 */
import { uniqueName } from '../../harness/common/names.ts';
import { eachAtOnce } from '../../harness/runner/property.ts';
import { byExploring } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType, createDevice, createdItem, createReleaseFixture, schemaBody } from './support/create.ts';
import { describeRequest, describeResponse, ok, refused, send, speaksAtLeast } from './support/requests.ts';

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

check(...byExploring(fields, { aspect: 'changed', needs: ['write'], makes: 'device' }));
