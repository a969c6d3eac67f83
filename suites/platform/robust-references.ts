/** Section 4.2, by the conventions of HTTP: what refers to something that does not exist is refused. */
import { randomInt } from 'node:crypto';
import type { Requirement } from '../../harness/runner/types.ts';
import { createDevice, created, unique } from './support/create.ts';
import { createKit, type Kit, schemaBody, since, tidy, tryDeployment } from './support/kit.ts';
import type { Item } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { refused, said, send } from './support/send.ts';
import { walk } from './support/walk.ts';

interface Reference {
  to: string;
  path: string;
  body: Record<string, unknown>;
}

/** Bodies that are taken when all they name exists: the kit shows it of its own, a control of the others. */
export const referredTo = (requirement: Requirement) =>
  check(
    requirement,
    { aspect: 'written', needs: ['write'], writes: true, sharing: 'exclusive' },
    async (t: Platform) => {
      const kit = await createKit(t);
      const device = await createDevice(t);
      const references = [...ofKit(t, kit), ...(await ofGroups(t)), ...(await ofDeployments(t, kit, device))];
      for (const { to, path, body } of references) {
        const response = await send(t, { method: 'POST', path, body });
        t.must(refused(response), {
          expected: `a 4xx to POST ${path} with ${to} that does not exist`,
          actual: said(response),
          counterexample: { method: 'POST', path, body },
        });
      }
      const { items } = await walk(t, 'deployments', { limit: 100, pages: 20 });
      const stray = items.find((item) => item['device_id'] === device.id);
      t.must(stray === undefined, {
        expected: `no deployment of ${device.id}: each that was asked for was refused`,
        actual: JSON.stringify(stray),
      });
    },
  );

function ofKit(t: Platform, { type, schema, content }: Kit): Reference[] {
  const version = `v${randomInt(1000, 9999)}.${randomInt(9999)}.${randomInt(9999)}`;
  return [
    { to: 'a config type', path: '/config_schemas', body: schemaBody(t, unknown(type.id)) },
    { to: 'a config schema', path: '/releases', body: { version, config_schema_ids: [unknown(schema.id)] } },
    {
      to: 'a config schema',
      path: '/config_instances',
      body: { config_schema_id: unknown(schema.id), content: { format: 'json', data: content } },
    },
  ];
}

async function ofGroups(t: Platform): Promise<Reference[]> {
  const post = async (body: unknown): Promise<Item | undefined> =>
    created(await send(t, { method: 'POST', path: '/groups', body }));
  const parent = await post({ name: unique('group') });
  const child = parent === undefined ? undefined : await post({ name: unique('group'), parent_id: parent.id });
  // What the parent is called in the body is not shown.
  if (parent === undefined || child?.['parent_id'] !== parent.id) return [];
  return [{ to: 'a parent', path: '/groups', body: { name: unique('group'), parent_id: unknown(parent.id) } }];
}

async function ofDeployments(t: Platform, kit: Kit, device: Item): Promise<Reference[]> {
  const { deployment } = await tryDeployment(t, [kit], (await createDevice(t)).id);
  if (deployment === undefined) return [];
  await tidy(t, [deployment]);
  const path = '/deployments';
  const body = {
    device_id: device.id,
    release_id: kit.release.id,
    config_instance_ids: [kit.instance.id],
    description: 'refers to something that does not exist',
    target_status: deployment['target_status'] === 'staged' ? 'staged' : 'deployed',
  };
  return [
    { to: 'a device', path, body: { ...body, device_id: unknown(device.id) } },
    { to: 'a release', path, body: { ...body, release_id: unknown(kit.release.id) } },
    { to: 'a config instance', path, body: { ...body, config_instance_ids: [unknown(kit.instance.id)] } },
    ...(since(t, 'everglades') ? [{ to: 'a parent', path, body: { ...body, parent_id: unknown(deployment.id) } }] : []),
  ];
}

/** An id of the same form, that nothing has: its digits and letters changed, whatever alphabet it is written in. */
function unknown(id: string): string {
  const [, prefix = '', rest = id] = /^([a-z]+(?:_[a-z]+)*_)?(.*)$/i.exec(id) ?? [];
  if (/^\d*$/.test(rest)) return `${prefix}${randomInt(2 ** 30, 2 ** 31 - 1)}`;
  const other = rest
    .replace(/[0-9]/g, () => String(randomInt(10)))
    .replace(/[a-f]/g, () => 'abcdef'.charAt(randomInt(6)));
  return other === rest ? `${prefix}unknown${rest}` : `${prefix}${other}`;
}
