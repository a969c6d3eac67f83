/** Section 9, 2026-08-17.everglades and migration rule 1: where a config schema says that its instances are written. */
import { uniqueName } from '../../harness/common/names.ts';
import { codenamesBefore } from '../../harness/contract/versions.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType, createdItem, createSchema, schemaBody } from './support/create.ts';
import { type Item, readItem, SEARCHED_AT_MOST, walk } from './support/lists.ts';
import { describeResponse, inVersion, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const options = { needs: ['write', 'everglades'] } as const;

const slots = requirement({
  id: 'platform.schema.slots',
  level: 'MUST',
  clause: 'an omitted `instance_slots` makes the server derive a default filepath instead of reusing a previous one',
  text:
    'From 2026-08-17.everglades on, a config schema names its paths in instance_slots[].filepath; ' +
    'if they are omitted, the server derives one and reuses none. Older versions use instance_filepath.',
});
check(slots, options, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  await mustKeepSlot(everglades);
  await mustKeepSeveralSlots(everglades);
});

check(slots, { ...options, aspect: 'derived' }, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const type = await createConfigType(everglades);
  const given = newPath();
  const ofOtherType = await derivedPaths(everglades, (await createConfigType(everglades)).id);
  await createSchema(everglades, type.id, { filepath: given });
  const [derived = ''] = await derivedPaths(everglades, type.id);
  t.must(derived !== given, {
    expected: 'a filepath that the server derives when instance_slots are omitted',
    actual: `${derived}, which is that of the schema before`,
  });
  const [again = ''] = await derivedPaths(everglades, type.id);
  t.should(again === derived, {
    expected: `the same derived path, ${derived}, for each schema of a type`,
    actual: again,
  });
  t.note(`derived: ${derived}; for another type: ${ofOtherType.join(', ')}`);
});

for (const codename of codenamesBefore('everglades'))
  check(slots, { needs: ['write', codename], aspect: codename }, async (t: Platform) => {
    const older = inVersion(t, codename);
    const filepath = newPath();
    const { id } = await createSchema(older, (await createConfigType(older)).id, { filepath });
    const schema = await readItem(older, 'config_schemas', id);
    t.must(schema['instance_filepath'] === filepath, {
      expected: `instance_filepath ${filepath} in ${older.apiVersion}`,
      actual: JSON.stringify(schema),
    });
    t.should(!('instance_slots' in schema), {
      expected: `no instance_slots in ${older.apiVersion}`,
      actual: JSON.stringify(schema['instance_slots']),
    });
    if (!t.capabilities.has('everglades')) return;
    const inEverglades = await readItem(inVersion(t, 'everglades'), 'config_schemas', id);
    t.must(slotPaths(inEverglades).includes(filepath), {
      expected: `instance_slots with ${filepath}, which was given in ${older.apiVersion}`,
      actual: JSON.stringify(inEverglades),
    });
  });

/** A schema keeps the one path that it was given. */
async function mustKeepSlot(t: Platform): Promise<void> {
  const filepath = newPath();
  const { id } = await createSchema(t, (await createConfigType(t)).id, { filepath });
  const schema = await readItem(t, 'config_schemas', id);
  t.must(mustHaveSlotPaths(t, schema).includes(filepath), {
    expected: `instance_slots with the filepath ${filepath} that was given`,
    actual: JSON.stringify(schema),
  });
  t.should(!('instance_filepath' in schema), {
    expected: 'instance_slots instead of instance_filepath',
    actual: `instance_filepath ${JSON.stringify(schema['instance_filepath'])}`,
  });
  const { items } = await walk(t, 'config_schemas', SEARCHED_AT_MOST);
  const listed = items.find((item) => item.id === id);
  // A list may show less of a schema than a single read does, but nothing else.
  if (!Array.isArray(listed?.['instance_slots'])) return;
  t.must(slotPaths(listed).includes(filepath), {
    expected: `instance_slots with the filepath ${filepath} in the list too, as in ${id} read by its id`,
    actual: JSON.stringify(listed),
  });
}

/** A schema keeps two paths that it was given. A platform may refuse more than one. */
async function mustKeepSeveralSlots(t: Platform): Promise<void> {
  const filepaths = [newPath(), newPath()];
  const instance_slots = filepaths.map((filepath, at) => ({
    key: `slot_${at}`,
    name: `Slot ${at}`,
    filepath,
    required: true,
  }));
  const body = { ...schemaBody(t, (await createConfigType(t)).id), instance_slots };
  const created = createdItem(await send(t, { method: 'POST', path: '/config_schemas', body }));
  t.observe('a schema with two instance_slots', created === undefined ? 'refused' : 'accepted');
  if (created === undefined) return;
  const schema = await readItem(t, 'config_schemas', created.id);
  t.must(
    filepaths.every((path) => slotPaths(schema).includes(path)),
    {
      expected: `instance_slots with the filepaths ${filepaths.join(' and ')} that were given`,
      actual: JSON.stringify(schema),
    },
  );
}

/** The paths of a new schema that was created without slots. */
async function derivedPaths(t: Platform, typeId: string): Promise<string[]> {
  const response = await send(t, { method: 'POST', path: '/config_schemas', body: schemaBody(t, typeId) });
  const schema = createdItem(response);
  // If the same body is refused with slots too, the fault may be in the body: this blocks the check.
  if (schema === undefined) await createSchema(t, typeId, { filepath: newPath() });
  t.must(schema !== undefined, {
    expected: 'a config schema without instance_slots to be created, with a derived filepath',
    actual: describeResponse(response),
  });
  return mustHaveSlotPaths(t, await readItem(t, 'config_schemas', schema.id));
}

const newPath = (): string => `/srv/configs/${uniqueName('path')}.json`;

function slotPaths(schema: Item): unknown[] {
  const found = schema['instance_slots'];
  return Array.isArray(found) ? found.map((slot) => (slot as { filepath?: unknown } | null)?.filepath) : [];
}

/** Fails the check unless there is at least one slot and each has a path. */
function mustHaveSlotPaths(t: Platform, schema: Item): string[] {
  const found = slotPaths(schema);
  t.must(found.length > 0 && found.every((path) => typeof path === 'string' && path !== ''), {
    expected: 'instance_slots with a filepath each',
    actual: JSON.stringify(schema),
  });
  return found as string[];
}
