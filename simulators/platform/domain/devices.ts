/** Devices: inactive → activating → online / offline, archived. */
import type { CreateDevice, UpdateDevice } from '../../../harness/contract/platform/device.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import { type DeviceRow, UNPROVISIONED } from '../store/rows.ts';
import { conflict, createdNow, find, insert, invalid } from './find.ts';

/** A new device is `inactive` until an agent provisions it. Throws PlatformError 409 when the name is taken. */
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

/** Group membership is read-only here (section 9); `group_id` only comes through where a defect lets it. */
export function updateDevice(core: Core, id: string, change: UpdateDevice & { group_id?: string | null }): DeviceRow {
  const row = find(core, 'device', id);
  if (row.status === 'archived') throw conflict('device_archived', 'an archived device cannot be changed');
  const changes: Partial<DeviceRow> = {};
  if (change.name !== undefined && change.name !== row.name) {
    refuseTakenName(core, change.name);
    changes.name = change.name;
  }
  if (change.group_id !== undefined) changes.group_id = change.group_id;
  if (Object.keys(changes).length === 0) return row;
  changes.updated_at = timestamp(core.clock);
  return core.store.write(() => core.store.collections.device.update(row, changes));
}

/** No published operation archives a device; the seeder and in-process callers do. */
export function archiveDevice(core: Core, id: string): DeviceRow {
  const row = find(core, 'device', id);
  if (row.status === 'archived') return row;
  const now = timestamp(core.clock);
  const archived = core.store.write(() =>
    core.store.collections.device.update(row, {
      status: 'archived',
      session_id: null,
      key_fingerprint: null,
      public_key_pem: null,
      last_disconnected_at: row.status === 'online' ? now : row.last_disconnected_at,
      updated_at: now,
    }),
  );
  core.standIns.delete(id);
  core.messenger.disconnect(id);
  return archived;
}

/** No device is connected when a platform starts, so `online` in its database is out of date. */
export function disconnectAll(core: Core): void {
  const now = timestamp(core.clock);
  const devices = core.store.collections.device;
  core.store.write(() => {
    for (const row of devices.where({ status: 'online' })) {
      if (core.standIns.has(row.id)) continue;
      devices.update(row, { status: 'offline', last_disconnected_at: now, updated_at: now });
    }
  });
}

/** Puts a device into a group, or into none: no published operation does that. */
export function assignGroup(core: Core, id: string, groupId: string | null): DeviceRow {
  const row = find(core, 'device', id);
  if (groupId !== null) find(core, 'group', groupId);
  return core.store.write(() =>
    core.store.collections.device.update(row, { group_id: groupId, updated_at: timestamp(core.clock) }),
  );
}

function refuseTakenName(core: Core, name: string): void {
  if (name.trim() === '') throw invalid('invalid_request', 'name: a device name must not be blank');
  if (core.behaviour.allowsDuplicates) return;
  if (core.store.collections.device.first({ name }) === undefined) return;
  throw conflict('device_exists', `there is a device ${JSON.stringify(name)}`, { name });
}
