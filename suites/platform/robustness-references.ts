/** Section 4.2, by the conventions of HTTP: whether ids that do not exist are refused with a 4xx. */
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { codePoint } from '../../harness/runner/property.ts';
import { type Platform, section } from './support/check.ts';
import {
  archiveMade,
  createDevice,
  createdItem,
  createReleaseFixture,
  type ReleaseFixture,
  schemaBody,
  tryDeployment,
  uniqueName,
} from './support/create.ts';
import { type Item, SEARCHED_AT_MOST, servedCollections, walk } from './support/lists.ts';
import { describeRequest, describeResponse, refused, send, speaksAtLeast } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '4.2', since: '2026-11-21' });

const unknownIds = requirement({
  id: 'platform.robust.references',
  level: 'SHOULD',
  text: 'Ids of resources that do not exist are answered with a 4xx, both in paths and in bodies.',
});
check(unknownIds, {}, async (t: Platform) => {
  const collections = await servedCollections(t);
  const anyText = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'abcdefghijkmnpqrstuvwxyz0123456789_'), minLength: 8, maxLength: 30 }),
    fc.string({ unit: codePoint, minLength: 1, maxLength: 10 }),
  );
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), id: anyText.map((text) => `unknown_${text}`) }),
    async ({ collection, id }) => {
      const path = `/${collection}/${encodeURIComponent(id)}`;
      const response = await send(t, { path });
      t.must(refused(response), {
        expected: 'a 4xx (404) to an id that does not exist',
        actual: describeResponse(response),
        counterexample: `GET ${path}`,
      });
    },
    {
      runs: 20,
      describe: ({ collection, id }: { collection: string; id: string }) =>
        describeRequest('GET', `/${collection}/${encodeURIComponent(id)}`),
    },
  );
});

check(unknownIds, { aspect: 'written', needs: ['write'] }, async (t: Platform) => {
  const fixture = await createReleaseFixture(t);
  const device = await createDevice(t);
  const references = [
    ...referencesOfReleases(t, fixture),
    ...(await referencesOfGroups(t)),
    ...(await referencesOfDeployments(t, fixture, device)),
  ];
  for (const { to, path, body } of references) {
    const response = await send(t, { method: 'POST', path, body });
    t.must(refused(response), {
      expected: `a 4xx to POST ${path} with ${to} that does not exist`,
      actual: describeResponse(response),
      counterexample: describeRequest('POST', path, body),
    });
  }
  const { items } = await walk(t, 'deployments', SEARCHED_AT_MOST);
  const created = items.find((item) => item['device_id'] === device.id);
  t.must(created === undefined, {
    expected: `no deployment of ${device.id}, since every request for one was refused`,
    actual: JSON.stringify(created),
  });
});

/**
 * A request that refers to something that does not exist. The platform accepts the same body if everything in it
 * exists.
 */
interface Reference {
  to: string;
  path: string;
  body: Record<string, unknown>;
}

/** The fixture was created with these bodies. */
function referencesOfReleases(t: Platform, { type, schema, content }: ReleaseFixture): Reference[] {
  const version = `v${randomInt(1000, 9999)}.${randomInt(9999)}.${randomInt(9999)}`;
  return [
    { to: 'a config type', path: '/config_schemas', body: schemaBody(t, unknownId(type.id)) },
    { to: 'a config schema', path: '/releases', body: { version, config_schema_ids: [unknownId(schema.id)] } },
    {
      to: 'a config schema',
      path: '/config_instances',
      body: { config_schema_id: unknownId(schema.id), content: { format: 'json', data: content } },
    },
  ];
}

/**
 * None if `parent_id` is not the field that holds the parent of a group, whose name the specification does not show.
 */
async function referencesOfGroups(t: Platform): Promise<Reference[]> {
  const path = '/groups';
  const post = async (body: unknown): Promise<Item | undefined> =>
    createdItem(await send(t, { method: 'POST', path, body }));
  const parent = await post({ name: uniqueName('group') });
  const child = parent === undefined ? undefined : await post({ name: uniqueName('group'), parent_id: parent.id });
  if (parent === undefined || child?.['parent_id'] !== parent.id) return [];
  return [{ to: 'a parent', path, body: { name: uniqueName('group'), parent_id: unknownId(parent.id) } }];
}

/** None if the platform does not create a deployment with the usual body. */
async function referencesOfDeployments(t: Platform, fixture: ReleaseFixture, device: Item): Promise<Reference[]> {
  const { deployment } = await tryDeployment(t, [fixture], (await createDevice(t)).id);
  if (deployment === undefined) return [];
  await archiveMade(t);
  const path = '/deployments';
  const body = {
    device_id: device.id,
    release_id: fixture.release.id,
    config_instance_ids: [fixture.instance.id],
    description: 'refers to something that does not exist',
    target_status: deployment['target_status'] === 'staged' ? 'staged' : 'deployed',
  };
  const references = [
    { to: 'a device', path, body: { ...body, device_id: unknownId(device.id) } },
    { to: 'a release', path, body: { ...body, release_id: unknownId(fixture.release.id) } },
    { to: 'a config instance', path, body: { ...body, config_instance_ids: [unknownId(fixture.instance.id)] } },
  ];
  if (!speaksAtLeast(t, 'everglades')) return references;
  return [...references, { to: 'a parent', path, body: { ...body, parent_id: unknownId(deployment.id) } }];
}

/** An id of the same form that no resource has: its prefix stays, digits and hexadecimal letters are replaced. */
function unknownId(id: string): string {
  const [, prefix = '', rest = id] = /^([a-z]+(?:_[a-z]+)*_)?(.*)$/i.exec(id) ?? [];
  if (/^\d*$/.test(rest)) return `${prefix}${randomInt(2 ** 30, 2 ** 31 - 1)}`;
  const other = rest
    .replace(/[0-9]/g, () => String(randomInt(10)))
    .replace(/[a-f]/g, () => 'abcdef'.charAt(randomInt(6)));
  return other === rest ? `${prefix}unknown${rest}` : `${prefix}${other}`;
}
