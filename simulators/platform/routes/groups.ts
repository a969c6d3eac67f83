import type { CreateGroup, MoveGroup, UpdateGroup } from '../../../harness/contract/platform/group.ts';
import { createGroup, moveGroup, renameGroup } from '../domain/groups.ts';
import { created, get, shown } from '../http/answers.ts';
import { type Handlers, param } from '../http/call.ts';
import { list } from '../http/lists.ts';

export const groupHandlers: Handlers = {
  listGroups: (call) => list(call, 'group'),
  getGroup: (call) => get(call, 'group'),
  createGroup: (call) => created(call, 'group', (core) => createGroup(core, call.body as CreateGroup)),
  updateGroup: (call) =>
    shown(call, 'group', (core) => renameGroup(core, param(call, 'group_id'), call.body as UpdateGroup)),
  moveGroup: (call) =>
    shown(call, 'group', (core) => moveGroup(core, param(call, 'group_id'), (call.body as MoveGroup).parent_id)),
};
