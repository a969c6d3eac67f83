/** The tree of device groups. */
import type { CreateGroup, UpdateGroup } from '../../../harness/contract/platform/group.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import type { GroupRow } from '../store/rows.ts';
import { conflict, createdNow, find, insert } from './find.ts';

/** Throws PlatformError 409 when a sibling has the name. */
export function createGroup(core: Core, { name, parent_id = null }: CreateGroup): GroupRow {
  if (parent_id !== null) find(core, 'group', parent_id);
  refuseTakenName(core, name, parent_id);
  return insert(core, 'group', { name, parent_id, ...createdNow(core) });
}

/** Throws PlatformError 409 when a sibling has the name. */
export function renameGroup(core: Core, id: string, { name }: UpdateGroup): GroupRow {
  const row = find(core, 'group', id);
  if (name === undefined || name === row.name) return row;
  refuseTakenName(core, name, row.parent_id);
  return change(core, row, { name });
}

/** `null` moves it to the top level. Throws PlatformError 409 when that would make a cycle. */
export function moveGroup(core: Core, id: string, parentId: string | null): GroupRow {
  const row = find(core, 'group', id);
  const line = parentId === null ? [] : lineOf(core, find(core, 'group', parentId));
  if (!core.behaviour.mayMoveGroup(id, line)) {
    throw conflict('group_cycle', 'a group cannot be moved below itself', { group_id: id, parent_id: parentId });
  }
  if (parentId === row.parent_id) return row;
  refuseTakenName(core, row.name, parentId);
  return change(core, row, { parent_id: parentId });
}

/** The group and its ancestors, nearest first. Ends even where a defect has made a cycle. */
function lineOf(core: Core, group: GroupRow): string[] {
  const line = new Set<string>();
  let at: GroupRow | undefined = group;
  while (at !== undefined && !line.has(at.id)) {
    line.add(at.id);
    at = at.parent_id === null ? undefined : core.store.collections.group.byId(at.parent_id);
  }
  return [...line];
}

function change(core: Core, row: GroupRow, changes: Partial<GroupRow>): GroupRow {
  const updated_at = timestamp(core.clock);
  return core.store.write(() => core.store.collections.group.update(row, { ...changes, updated_at }));
}

function refuseTakenName(core: Core, name: string, parentId: string | null): void {
  if (core.behaviour.allowsDuplicates) return;
  if (core.store.collections.group.first({ name, parent_id: parentId }) === undefined) return;
  throw conflict('group_exists', `there is a group ${JSON.stringify(name)} at that place`, {
    name,
    parent_id: parentId,
  });
}
