/** Devices: inactive → activating → online / offline, archived. */
import type { CreateDevice, UpdateDevice } from '../../../harness/contract/platform/device.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import { type DeviceRow, UNPROVISIONED } from '../store/rows.ts';
import { change, conflict, createdNow, find, insert, invalid, refuseTaken } from './find.ts';

/** A new device is `inactive` until an agent provisions it. Throws PlatformError 409 if the name is taken. */
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

/** Group membership is read-only here (section 9); `group_id` arrives only through a defect. */
export function updateDevice(
  core: Core,
  id: string,
  { name, group_id }: UpdateDevice & { group_id?: string | null },
): DeviceRow {
  const row = find(core, 'device', id);
  if (row.status === 'archived') throw conflict('device_archived', 'an archived device cannot be changed');
  const changes: Partial<DeviceRow> = {};
  if (name !== undefined && name !== row.name) {
    refuseTakenName(core, name);
    changes.name = name;
  }
  if (group_id !== undefined) changes.group_id = group_id;
  return Object.keys(changes).length === 0 ? row : change(core, 'device', row, changes);
}

/** Called by the seeder and in this process only: no published operation archives a device. */
export function archiveDevice(core: Core, id: string): DeviceRow {
  const row = find(core, 'device', id);
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

/** Corrects `online` in the database: no device is connected when a platform starts. */
export function disconnectAll(core: Core): void {
  core.store.write(() => {
    for (const row of core.store.collections.device.where({ status: 'online' })) {
      if (!core.standIns.has(row.id)) markConnected(core, row, false);
    }
  });
}

/** Puts a device into a group or into none: no published operation does that. */
export function assignGroup(core: Core, id: string, groupId: string | null): DeviceRow {
  const row = find(core, 'device', id);
  if (groupId !== null) find(core, 'group', groupId);
  return change(core, 'device', row, { group_id: groupId });
}

function refuseTakenName(core: Core, name: string): void {
  if (name.trim() === '') throw invalid('invalid_request', 'name: a device name must not be blank');
  refuseTaken(core, 'device', { name }, `there is a device ${JSON.stringify(name)}`);
}
