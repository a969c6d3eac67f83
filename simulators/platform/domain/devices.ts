import type { CreateDevice, UpdateDevice } from '../../../harness/contract/platform/device.ts';
import type { CreateGroup, MoveGroup, UpdateGroup } from '../../../harness/contract/platform/group.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import { type DeviceRow, type GroupRow, UNPROVISIONED } from '../store/rows.ts';
import { change, conflict, createdNow, findRow, insert, invalid, refuseTaken } from './find.ts';

export function createDevice(core: Core, { name }: CreateDevice): DeviceRow {
  refuseTakenName(core, name);
  return insert(core, 'device', {
    name,
    description: null,
    status: 'inactive',
    agent_version: null,
    last_connected_at: null,
    last_disconnected_at: null,
    group_id: null,
    ...UNPROVISIONED,
    ...createdNow(core),
  });
}

/** Only a planted defect passes `group_id` (section 9 of the specification). */
export function updateDevice(core: Core, id: string, request: UpdateDevice & { group_id?: string | null }): DeviceRow {
  const { name, group_id } = request;
  const row = findRow(core, 'device', id);
  if (row.status === 'archived') throw conflict('device_archived', 'an archived device cannot be changed');
  const changes: Partial<DeviceRow> = {};
  if (name !== undefined && name !== row.name) {
    refuseTakenName(core, name);
    changes.name = name;
  }
  if (group_id !== undefined) changes.group_id = group_id;
  return Object.keys(changes).length === 0 ? row : change(core, 'device', row, changes);
}

/** For seeds, the control API and the library; no published operation archives a device. */
export function archiveDevice(core: Core, id: string): DeviceRow {
  const row = findRow(core, 'device', id);
  if (row.status === 'archived') return row;
  const now = timestamp(core.clock);
  const archived = change(core, 'device', row, {
    status: 'archived',
    session_id: null,
    key_fingerprint: null,
    public_key_pem: null,
    last_disconnected_at: row.status === 'online' ? now : row.last_disconnected_at,
    updated_at: now,
  });
  core.standIns.delete(id);
  core.messenger.disconnect(id);
  return archived;
}

export function markConnected(core: Core, row: DeviceRow, online: boolean): DeviceRow {
  const now = timestamp(core.clock);
  const changes = online
    ? ({ status: 'online', last_connected_at: now } as const)
    : ({ status: 'offline', last_disconnected_at: now } as const);
  return change(core, 'device', row, { ...changes, updated_at: now });
}

/** Marks online devices as disconnected, except stand-ins, which have no agent that could disconnect. */
export function disconnectAll(core: Core): void {
  core.store.write(() => {
    for (const row of core.store.collections.device.where({ status: 'online' }))
      if (!core.standIns.has(row.id)) markConnected(core, row, false);
  });
}

/** For the control API and the library; no published operation changes the group of a device. */
export function assignGroup(core: Core, id: string, groupId: string | null): DeviceRow {
  const row = findRow(core, 'device', id);
  if (groupId !== null) findRow(core, 'group', groupId);
  return change(core, 'device', row, { group_id: groupId });
}

function refuseTakenName(core: Core, name: string): void {
  if (name.trim() === '') throw invalid('invalid_request', 'name: a device name must not be blank');
  refuseTaken(core, 'device', { name }, `there is a device ${JSON.stringify(name)}`);
}

export function createGroup(core: Core, { name, parent_id = null }: CreateGroup): GroupRow {
  if (parent_id !== null) findRow(core, 'group', parent_id);
  refuseTakenSibling(core, name, parent_id);
  return insert(core, 'group', { name, parent_id, ...createdNow(core) });
}

export function renameGroup(core: Core, id: string, { name }: UpdateGroup): GroupRow {
  const row = findRow(core, 'group', id);
  if (name === undefined || name === row.name) return row;
  refuseTakenSibling(core, name, row.parent_id);
  return change(core, 'group', row, { name });
}

export function moveGroup(core: Core, id: string, { parent_id }: MoveGroup): GroupRow {
  const row = findRow(core, 'group', id);
  // Collects the new parent and its ancestors; ends at a cycle, which a planted defect permits.
  const line = new Set<string>();
  let at = parent_id === null ? undefined : findRow(core, 'group', parent_id);
  while (at !== undefined && !line.has(at.id)) {
    line.add(at.id);
    at = at.parent_id === null ? undefined : core.store.collections.group.byId(at.parent_id);
  }
  if (!core.behaviour.mayMoveGroup(id, [...line]))
    throw conflict('group_cycle', 'a group cannot be moved below itself', { group_id: id, parent_id });
  if (parent_id === row.parent_id) return row;
  refuseTakenSibling(core, row.name, parent_id);
  return change(core, 'group', row, { parent_id });
}

const refuseTakenSibling = (core: Core, name: string, parent_id: string | null): void =>
  refuseTaken(core, 'group', { name, parent_id }, `there is a group ${JSON.stringify(name)} at that place`);
