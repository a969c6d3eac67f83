/** Section 9, migration rule 2: whether the slug of a config type is immutable. */
import { uniqueName } from '../../harness/common/names.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType } from './support/create.ts';
import { type Item, readItem } from './support/lists.ts';
import { describeRequest, describeResponse, inVersion, ok, refused, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const slug = requirement({
  id: 'platform.config-type.slug',
  level: 'MUST',
  clause: '`PATCH /config_types/{config_type_id}` does not accept `slug`; slugs are immutable.',
  text: 'From 2026-08-17.everglades on, PATCH of a config type does not accept slug: no request changes it.',
});
check(slug, { needs: ['write', 'everglades'] }, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const type = await createConfigType(everglades);
  if (typeof type['slug'] !== 'string') t.blocked('set-up: a new config type shows no slug');
  await mustKeepSlugWhenRenamed(everglades, type);
  for (const body of [
    { slug: uniqueName('slug') },
    { name: uniqueName('renamed'), slug: uniqueName('slug') },
    { slug: null },
  ]) {
    await mustKeepSlug(everglades, type, body);
  }
});

const pathOf = ({ id }: Item): string => `/config_types/${encodeURIComponent(id)}`;

/** Blocks the check if PATCH does not work at all: its refusal of a slug would mean nothing. */
async function mustKeepSlugWhenRenamed(t: Platform, type: Item): Promise<void> {
  const name = uniqueName('renamed');
  const response = await send(t, { method: 'PATCH', path: pathOf(type), body: { name } });
  if (!ok(response)) t.blocked(`set-up: PATCH ${pathOf(type)} with a name answered ${describeResponse(response)}`);
  const now = await readItem(t, 'config_types', type.id);
  t.must(now['slug'] === type['slug'], {
    expected: `slug ${type['slug']} after a change of name`,
    actual: JSON.stringify(now),
  });
  t.should(now['name'] === undefined || now['name'] === name, {
    expected: `the name ${name}, as PATCH ${pathOf(type)} answered ${response.status}`,
    actual: now['name'],
  });
}

async function mustKeepSlug(t: Platform, type: Item, body: { name?: string; slug: string | null }): Promise<void> {
  const response = await send(t, { method: 'PATCH', path: pathOf(type), body });
  const now = await readItem(t, 'config_types', type.id);
  t.must(now['slug'] === type['slug'], {
    expected: `slug ${type['slug']}, which is immutable`,
    actual: `slug ${now['slug']} after ${response.status} to PATCH ${JSON.stringify(body)}`,
    counterexample: describeRequest('PATCH', pathOf(type), body),
  });
  t.should(!(refused(response) && 'name' in body && now['name'] === body.name), {
    expected: `nothing to be changed by PATCH ${JSON.stringify(body)}, which was answered ${response.status}`,
    actual: `name ${now['name']}`,
  });
  t.should(refused(response), { expected: 'a 4xx to PATCH with slug', actual: describeResponse(response) });
}
