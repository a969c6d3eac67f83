/** Section 9, migration rule 2: slugs are immutable. */
import { requirement } from '../../harness/runner/define.ts';
import { createConfigType, unique } from './support/create.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion, ok, refused, said, send } from './support/send.ts';

const SLUG = requirement({
  id: 'platform.config-type.slug',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'From 2026-08-17.everglades on PATCH of a config type does not accept slug: no request changes it.',
});
const slug = check(
  SLUG,
  { needs: ['write', 'everglades'], writes: true, sharing: 'exclusive' },
  async (run: Platform) => {
    const t: Platform = inVersion(run, 'everglades');
    const type = await createConfigType(t);
    if (typeof type['slug'] !== 'string') t.blocked('set-up: a config type that was just created shows no slug');
    const path = `/config_types/${encodeURIComponent(type.id)}`;
    const name = unique('renamed');
    const control = await send(t, { method: 'PATCH', path, body: { name } });
    if (!ok(control)) t.blocked(`set-up: PATCH ${path} with a name answered ${said(control)}`);
    const before = await read(t, 'config_types', type.id);
    t.must(before['slug'] === type['slug'], {
      expected: `slug ${type['slug']} after a change of name`,
      actual: JSON.stringify(before),
    });
    t.should(before['name'] === undefined || before['name'] === name, {
      expected: `the name ${name}, as PATCH ${path} answered ${control.status}`,
      actual: before['name'],
    });
    for (const body of [{ slug: unique('slug') }, { name: unique('renamed'), slug: unique('slug') }, { slug: null }]) {
      const response = await send(t, { method: 'PATCH', path, body });
      const after = await read(t, 'config_types', type.id);
      t.must(after['slug'] === type['slug'], {
        expected: `slug ${type['slug']}, which is immutable`,
        actual: `slug ${after['slug']} after ${response.status} to PATCH ${JSON.stringify(body)}`,
        counterexample: { method: 'PATCH', path, body },
      });
      t.should(!(refused(response) && 'name' in body && after['name'] === body.name), {
        expected: `nothing to be changed by PATCH ${JSON.stringify(body)}, which was answered ${response.status}`,
        actual: `name ${after['name']}`,
      });
      t.should(refused(response), { expected: 'a 4xx to PATCH with slug', actual: said(response) });
    }
  },
);

export const configTypeChecks = [slug];
