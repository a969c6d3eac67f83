import type { CreateGroup, MoveGroup, UpdateGroup } from '../../../harness/contract/platform/group.ts';
import type { Core } from '../core.ts';
import type { GroupRow } from '../store/rows.ts';
import { change, conflict, createdNow, find, insert, refuseTaken } from './find.ts';

/** Throws PlatformError 409 if a sibling has the name. */
export function createGroup(core: Core, { name, parent_id = null }: CreateGroup): GroupRow {
  if (parent_id !== null) find(core, 'group', parent_id);
  refuseTakenName(core, name, parent_id);
  return insert(core, 'group', { name, parent_id, ...createdNow(core) });
}

/** Throws PlatformError 409 if a sibling has the name. */
export function renameGroup(core: Core, id: string, { name }: UpdateGroup): GroupRow {
  const row = find(core, 'group', id);
  if (name === undefined || name === row.name) return row;
  refuseTakenName(core, name, row.parent_id);
  return change(core, 'group', row, { name });
}

/** `null` moves it to the top level. Throws PlatformError 409 for a cycle. */
export function moveGroup(core: Core, id: string, { parent_id }: MoveGroup): GroupRow {
  const row = find(core, 'group', id);
  const line = parent_id === null ? [] : lineOf(core, find(core, 'group', parent_id));
  if (!core.behaviour.mayMoveGroup(id, line)) {
    throw conflict('group_cycle', 'a group cannot be moved below itself', { group_id: id, parent_id });
  }
  if (parent_id === row.parent_id) return row;
  refuseTakenName(core, row.name, parent_id);
  return change(core, 'group', row, { parent_id });
}

/** The group and its ancestors, nearest first; terminates even in a cycle made by a defect. */
function lineOf(core: Core, group: GroupRow): string[] {
  const line = new Set<string>();
  let at: GroupRow | undefined = group;
  while (at !== undefined && !line.has(at.id)) {
    line.add(at.id);
    at = at.parent_id === null ? undefined : core.store.collections.group.byId(at.parent_id);
  }
  return [...line];
}

const refuseTakenName = (core: Core, name: string, parent_id: string | null): void =>
  refuseTaken(core, 'group', { name, parent_id }, `there is a group ${JSON.stringify(name)} at that place`);
