import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { PlatformError } from '../../platform/ports.ts';
import { defect, keepsFirstNames, unchecked, variant } from '../define-platform.ts';

const TREE = ['platform.group.tree'];

/** Milliseconds for which the platform overlooks a change, as with a separate copy of the data per process. */
const STALE_MS = 30;

/** Overlooks the latest moves of groups when checking for a cycle, and therefore allows a cycle. */
function movesByStaleTree(): Pick<PlatformBehaviour, 'mayMoveGroup'> {
  const movedAt = new Map<string, number>();
  const isStale = (id: string): boolean => performance.now() - (movedAt.get(id) ?? Number.NEGATIVE_INFINITY) < STALE_MS;
  return {
    mayMoveGroup: (group, line) => {
      const known = line.findIndex(isStale);
      const may = !line.slice(0, known < 0 ? undefined : known + 1).includes(group);
      if (may) movedAt.set(group, performance.now());
      return may;
    },
  };
}

/** Undoes a simultaneous move, because a renaming writes back the whole group with its old parent. */
function renamesWithStaleParent(): Pick<PlatformBehaviour, 'answer' | 'resource'> {
  const shown = new Map<unknown, { parent: unknown; before: unknown; at: number }>();
  const undone = new Map<unknown, unknown>();
  return {
    resource: (kind, resource) => {
      const { id, parent_id: parent } = resource;
      if (kind !== 'group') return resource;
      const last = shown.get(id);
      if (last?.parent !== parent) shown.set(id, { parent, before: last?.parent, at: performance.now() });
      return undone.has(id) ? { ...resource, parent_id: undone.get(id) } : resource;
    },
    answer: (operation, answer) => {
      const { id } = (answer.body ?? {}) as { id?: unknown };
      const last = shown.get(id);
      if (operation === 'moveGroup') undone.delete(id);
      if (operation === 'updateGroup' && last?.before !== undefined && performance.now() - last.at < STALE_MS)
        undone.set(id, last.before);
      return answer;
    },
  };
}

export const defects = [
  defect('group-below-its-grandchild', 'Moves a group below the children of its children.', TREE, {
    mayMoveGroup: (group, line) => !line.slice(0, 2).includes(group),
  }),
  defect('group-below-itself', 'Makes a group its own parent.', TREE, {
    mayMoveGroup: (group, line) => !line.slice(1).includes(group),
  }),
  defect('group-moves-race', 'Lets two moves at the same time make a circle of groups.', TREE, movesByStaleTree),
  defect(
    'group-rename-undoes-move',
    'Puts a group back where it was when it is renamed while it is moved.',
    TREE,
    renamesWithStaleParent,
  ),
  defect(
    'group-rename-lost',
    'Answers a renaming with the new name, and keeps the old one.',
    TREE,
    keepsFirstNames('createGroup', 'getGroup'),
  ),
  defect('membership-written', 'Lets a device be put into a group by PATCH.', TREE, unchecked('updateDevice')),
  defect('membership-fails', 'Fails when a device is to be put into a group by PATCH.', TREE, ({ bodyProblems }) => ({
    bodyProblems: (operation, value, check) => {
      if (operation === 'updateDevice' && typeof value === 'object' && value !== null && 'group_id' in value) {
        throw new Error('nobody expected a group here');
      }
      return bodyProblems(operation, value, check);
    },
  })),
];

export const variants = [
  variant(
    'group-parent-by-another-name',
    'Calls the parent of a group parent_group_id, and ignores parent_id.',
    ({ bodyProblems }) => ({
      resource: (kind, resource) => {
        if (kind !== 'group') return resource;
        const { parent_id: parent, ...rest } = resource;
        return { ...rest, parent_group_id: parent };
      },
      bodyProblems: (operation, value, check) => {
        if ((operation === 'createGroup' || operation === 'moveGroup') && typeof value === 'object' && value !== null) {
          const body = value as { parent_id?: unknown; parent_group_id?: unknown };
          delete body.parent_id;
          if (body.parent_group_id !== undefined) body.parent_id = body.parent_group_id;
          delete body.parent_group_id;
        }
        return bodyProblems(operation, value, check);
      },
    }),
  ),
  variant(
    'groups-moved-elsewhere',
    'Moves groups at a path of its own, not at /groups/{id}/move.',
    ({ bodyProblems }) => ({
      bodyProblems: (operation, value, check) => {
        if (operation === 'moveGroup') throw new PlatformError(404, 'unknown_route', 'there is nothing at this path');
        return bodyProblems(operation, value, check);
      },
    }),
  ),
  variant('groups-renamed-elsewhere', 'Renames groups at a path of its own, not by PATCH.', ({ bodyProblems }) => ({
    bodyProblems: (operation, value, check) => {
      if (operation === 'updateGroup') throw new PlatformError(405, 'method_not_allowed', 'PATCH is not served here');
      return bodyProblems(operation, value, check);
    },
  })),
  variant('devices-not-patched', 'Has no PATCH of a device: the specification names none.', ({ bodyProblems }) => ({
    bodyProblems: (operation, value, check) => {
      if (operation === 'updateDevice') throw new PlatformError(405, 'method_not_allowed', 'PATCH is not served here');
      return bodyProblems(operation, value, check);
    },
  })),
];
