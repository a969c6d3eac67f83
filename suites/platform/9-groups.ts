/** Section 9, 2026-08-17.everglades: device groups. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import {
  circle,
  findForms,
  type GroupForms,
  type GroupModel,
  type GroupReality,
  groupCommands,
} from './models/groups/index.ts';
import { create, createDevice, created, unique } from './support/create.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion, ok, refused, said, send } from './support/send.ts';

const TREE = requirement({
  id: 'platform.group.tree',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'Groups can be created, renamed, moved and read; they form a tree, whatever is moved where; a device’s membership cannot be written through the device.',
});
const options = { needs: ['write', 'everglades'], writes: true, sharing: 'exclusive' } as const;

async function withRoot(t: Platform, forms: GroupForms): Promise<{ model: GroupModel; real: GroupReality }> {
  const name = unique('group');
  const root = await create(t, '/groups', { name, [forms.parentField]: null });
  return { model: { groups: [{ id: root.id, name, parent: null }] }, real: { t, forms } };
}

const tree = check(TREE, options, async (run: Platform) => {
  const t = inVersion(run, 'everglades');
  const forms = await findForms(t);
  const setUp = await withRoot(t, forms);
  await fc.asyncModelRun(() => setUp, circle);
  await run.property(
    groupCommands(run.replayPath),
    async (commands) => {
      const fresh = await withRoot(t, forms);
      await fc.asyncModelRun(() => fresh, commands);
    },
    { runs: 8 },
  );
  const lacking = (['rename', 'move'] as const).filter((verb) => forms[verb] === undefined);
  if (lacking.length > 0)
    t.notApplicable(`groups were created and read; the path to ${lacking.join(' and ')} is not known`);
});

const membership = check(TREE, { ...options, aspect: 'membership' }, async (run: Platform) => {
  const t: Platform = inVersion(run, 'everglades');
  const group = await create(t, '/groups', { name: unique('group') });
  const device = await createDevice(t);
  const path = `/devices/${encodeURIComponent(device.id)}`;
  const renamed = await send(t, { method: 'PATCH', path, body: { name: unique('device') } });
  if (!ok(renamed)) t.blocked(`set-up: PATCH ${path} with a name answered ${said(renamed)}`);
  const bodies = [{ group_id: group.id }, { name: unique('device'), group_id: group.id }, { group: { id: group.id } }];
  for (const body of bodies) {
    const response = await send(t, { method: 'PATCH', path, body });
    const now = await read(t, 'devices', device.id);
    t.must(!belongs(now, group.id), {
      expected: 'the group of a device to stay as it is when the device is written',
      actual: `${response.status}, and the device is in ${group.id}`,
      counterexample: { method: 'PATCH', path, body },
    });
    t.should(ok(response) || refused(response), {
      expected: '2xx or 4xx to PATCH with a group',
      actual: said(response),
    });
  }
  const body = { name: unique('device'), group_id: group.id };
  const made = await send(t, { method: 'POST', path: '/devices', body });
  const item = created(made);
  const now = item === undefined ? undefined : await read(t, 'devices', item.id);
  t.must(now === undefined || !belongs(now, group.id), {
    expected: 'no membership to be written when a device is created',
    actual: said(made),
    counterexample: { method: 'POST', path: '/devices', body },
  });
  t.should(item !== undefined || refused(made), { expected: '2xx or 4xx', actual: said(made) });
});

/** Whether the device says, in whatever field, that it is in that group. */
const belongs = (device: unknown, group: string): boolean => JSON.stringify(device).includes(JSON.stringify(group));

export const groupChecks = [tree, membership];
