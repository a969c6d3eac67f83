/** Section 9, 2026-08-17.everglades: whether device groups form a tree, and a device cannot change its group. */

import fc from 'fast-check';
import { uniqueName } from '../../harness/common/names.ts';
import { describeCommands } from '../../harness/runner/property.ts';
import { findGroupRequests, type GroupRequests } from './models/group-requests.ts';
import { CIRCLE, type GroupModel, type GroupReality, groupCommands } from './models/groups.ts';
import { type Platform, section } from './support/check.ts';
import { create, createDevice, createdItem } from './support/create.ts';
import { readItem } from './support/lists.ts';
import { describeRequest, describeResponse, inVersion, NOT_SERVED, ok, refused, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const options = { needs: ['write', 'everglades'] } as const;

const tree = requirement({
  id: 'platform.group.tree',
  level: 'MUST',
  clause: "Device groups (create, rename, move; a device's group membership is read-only)",
  text:
    'Groups can be created, renamed, moved and read, and form a tree after any move; ' +
    'a write to a device cannot change its group.',
});
check(tree, options, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const requests = await findGroupRequests(everglades);
  const setUp = await createRoot(everglades, requests);
  await fc.asyncModelRun(() => setUp, CIRCLE);
  await t.property(
    groupCommands(t.replayPath),
    async (commands) => {
      const fresh = await createRoot(everglades, requests);
      await fc.asyncModelRun(() => fresh, commands);
    },
    { runs: 8, describe: describeCommands },
  );
  const unknown = (['rename', 'move'] as const).filter((verb) => requests[verb] === undefined);
  if (unknown.length > 0) {
    t.notApplicable(`groups were created and read; the path to ${unknown.join(' and ')} is not known`);
  }
});

async function createRoot(t: Platform, requests: GroupRequests): Promise<{ model: GroupModel; real: GroupReality }> {
  const name = uniqueName('group');
  const { id } = await create(t, '/groups', { name, [requests.parentField]: null });
  return { model: { groups: [{ id, name, parent: null }] }, real: { t, requests } };
}

check(tree, { ...options, aspect: 'membership' }, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const group = await create(everglades, '/groups', { name: uniqueName('group') });
  await mustKeepGroup(everglades, group.id);
  await mustCreateWithoutGroup(everglades, group.id);
});

async function mustKeepGroup(t: Platform, group: string): Promise<void> {
  const device = await createDevice(t);
  const path = `/devices/${encodeURIComponent(device.id)}`;
  const renamed = await send(t, { method: 'PATCH', path, body: { name: uniqueName('device') } });
  // The specification names no PATCH of a device: without it, nothing but the creation of a device could write a group.
  if (NOT_SERVED.includes(renamed.status)) return t.note(`the platform has no PATCH /devices/{id} (${renamed.status})`);
  if (!ok(renamed)) t.blocked(`set-up: PATCH ${path} with a name answered ${describeResponse(renamed)}`);
  const bodies = [{ group_id: group }, { name: uniqueName('device'), group_id: group }, { group: { id: group } }];
  for (const body of bodies) {
    const response = await send(t, { method: 'PATCH', path, body });
    const now = await readItem(t, 'devices', device.id);
    t.must(!names(now, group), {
      expected: 'the group of a device to stay as it is when the device is written',
      actual: `${response.status}, and the device is in ${group}`,
      counterexample: describeRequest('PATCH', path, body),
    });
    t.should(ok(response) || refused(response), {
      expected: '2xx or 4xx to PATCH with a group',
      actual: describeResponse(response),
    });
  }
}

async function mustCreateWithoutGroup(t: Platform, group: string): Promise<void> {
  const body = { name: uniqueName('device'), group_id: group };
  const response = await send(t, { method: 'POST', path: '/devices', body });
  const device = createdItem(response);
  const now = device === undefined ? undefined : await readItem(t, 'devices', device.id);
  t.must(now === undefined || !names(now, group), {
    expected: 'no group to be written when a device is created',
    actual: describeResponse(response),
    counterexample: describeRequest('POST', '/devices', body),
  });
  t.should(device !== undefined || refused(response), { expected: '2xx or 4xx', actual: describeResponse(response) });
}

/** Whether any field of the device holds the id of the group: the name of that field is not shown. */
const names = (device: unknown, group: string): boolean => JSON.stringify(device).includes(JSON.stringify(group));
