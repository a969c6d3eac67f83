/** Section 9, 2026-08-17.everglades and migration rule 1: where the instances of a config schema are written. */
import { codenamesBefore } from '../../harness/contract/versions.ts';
import { requirement } from '../../harness/runner/define.ts';
import { createConfigType, created, unique } from './support/create.ts';
import { createSchema, schemaBody } from './support/kit.ts';
import type { Item } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion, said, send } from './support/send.ts';
import { walk } from './support/walk.ts';

const SLOTS = requirement({
  id: 'platform.schema.slots',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'From 2026-08-17.everglades on a config schema says where it writes in instance_slots[].filepath; when they are omitted the server derives a path and takes none of an earlier schema; older versions say instance_filepath.',
});
const options = { needs: ['write', 'everglades'], writes: true, sharing: 'exclusive' } as const;

const newPath = (): string => `/srv/configs/${unique('path')}.json`;

function slotPaths(schema: Item): unknown[] {
  const slots = schema['instance_slots'];
  return Array.isArray(slots) ? slots.map((slot) => (slot as { filepath?: unknown } | null)?.filepath) : [];
}

function paths(t: Platform, schema: Item): string[] {
  const found = slotPaths(schema);
  t.must(found.length > 0 && found.every((path) => typeof path === 'string' && path !== ''), {
    expected: 'instance_slots with a filepath each',
    actual: JSON.stringify(schema),
  });
  return found as string[];
}

const given = check(SLOTS, options, async (run: Platform) => {
  const t: Platform = inVersion(run, 'everglades');
  const filepath = newPath();
  const type = await createConfigType(t);
  const schema = await read(t, 'config_schemas', (await createSchema(t, type.id, { filepath })).id);
  t.must(paths(t, schema).includes(filepath), {
    expected: `instance_slots with the filepath ${filepath} that was given`,
    actual: JSON.stringify(schema),
  });
  t.should(!('instance_filepath' in schema), {
    expected: 'instance_slots instead of instance_filepath',
    actual: `instance_filepath ${JSON.stringify(schema['instance_filepath'])}`,
  });
  await listedAlike(t, schema.id, filepath);
  const several = [newPath(), newPath()];
  const instance_slots = several.map((path, at) => ({
    key: `slot_${at}`,
    name: `Slot ${at}`,
    filepath: path,
    required: true,
  }));
  const body = { ...schemaBody(t, (await createConfigType(t)).id), instance_slots };
  const made = created(await send(t, { method: 'POST', path: '/config_schemas', body }));
  if (made === undefined) return t.note('a schema with two instance_slots is refused');
  const both = await read(t, 'config_schemas', made.id);
  t.must(
    several.every((path) => slotPaths(both).includes(path)),
    {
      expected: `instance_slots with the filepaths ${several.join(' and ')} that were given`,
      actual: JSON.stringify(both),
    },
  );
});

/** A list may show less of a schema than a single read; what it shows has to be so. */
async function listedAlike(t: Platform, id: string, filepath: string): Promise<void> {
  const { items } = await walk(t, 'config_schemas', { limit: 100, pages: 20 });
  const listed = items.find((item) => item.id === id);
  if (!Array.isArray(listed?.['instance_slots'])) return;
  t.must(slotPaths(listed).includes(filepath), {
    expected: `instance_slots with the filepath ${filepath} in the list too, as in ${id} read alone`,
    actual: JSON.stringify(listed),
  });
}

const derived = check(SLOTS, { ...options, aspect: 'derived' }, async (run: Platform) => {
  const t: Platform = inVersion(run, 'everglades');
  const type = await createConfigType(t);
  const custom = newPath();
  const fresh = await withoutSlots(t, (await createConfigType(t)).id);
  await createSchema(t, type.id, { filepath: custom });
  const [path = ''] = await withoutSlots(t, type.id);
  t.must(path !== custom, {
    expected: 'a filepath that the server derives when instance_slots are omitted',
    actual: `${path}, which is that of the schema before`,
  });
  const [again = ''] = await withoutSlots(t, type.id);
  t.should(again === path, { expected: `the same derived path, ${path}, for each schema of a type`, actual: again });
  t.note(`derived: ${path}; for another type: ${fresh.join(', ')}`);
});

/** The paths of a new schema of which none was given. */
async function withoutSlots(t: Platform, typeId: string): Promise<string[]> {
  const response = await send(t, { method: 'POST', path: '/config_schemas', body: schemaBody(t, typeId) });
  const schema = created(response);
  // The same body with slots has to be accepted, or the fault may be ours.
  if (schema === undefined) await createSchema(t, typeId, { filepath: newPath() });
  t.must(schema !== undefined, {
    expected: 'a config schema without instance_slots to be created, with a derived filepath',
    actual: said(response),
  });
  return paths(t, await read(t, 'config_schemas', schema.id));
}

const older = codenamesBefore('everglades').map((codename) =>
  check(
    SLOTS,
    { needs: ['write', codename], writes: true, sharing: 'exclusive', aspect: codename },
    async (run: Platform) => {
      const t: Platform = inVersion(run, codename);
      const filepath = newPath();
      const schema = await createSchema(t, (await createConfigType(t)).id, { filepath });
      const seen = await read(t, 'config_schemas', schema.id);
      t.must(seen['instance_filepath'] === filepath, {
        expected: `instance_filepath ${filepath} in ${t.apiVersion}`,
        actual: JSON.stringify(seen),
      });
      t.should(!('instance_slots' in seen), {
        expected: `no instance_slots in ${t.apiVersion}`,
        actual: JSON.stringify(seen['instance_slots']),
      });
      if (!run.capabilities.has('everglades')) return;
      const newest = await read(inVersion(run, 'everglades'), 'config_schemas', schema.id);
      t.must(slotPaths(newest).includes(filepath), {
        expected: `instance_slots with ${filepath}, which was given in ${t.apiVersion}`,
        actual: JSON.stringify(newest),
      });
    },
  ),
);

export const configSchemaChecks = [given, derived, ...older];
