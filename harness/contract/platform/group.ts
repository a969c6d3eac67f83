/** Device groups, which form a tree; the API version everglades added groups (section 9 of the specification). */
import type { Static, TObject } from 'typebox';
import { exact, nullable, Timestamp, Type } from '../shape.ts';
import { type Operation, operationsOn, printable, resource } from './operation.ts';

const fields = {
  object: Type.Literal('group'),
  id: Type.String({ pattern: '^grp_' }),
  name: Type.String(),
  parent_id: nullable(Type.String(), 'Null at the top level'),
  created_at: Timestamp,
  updated_at: Timestamp,
};
export type Group = Static<TObject<typeof fields>>;

export const groupResource = resource('group', 'grp_', {
  fields: () => fields,
  expansions: { parent: { kind: 'group', nullable: true } },
  filters: { id: {}, name: {}, parent_id: {} },
  orders: { updated_at: {}, name: {} },
});

const name = printable(128, 'The name of the group, unique among its siblings');
const createBody = exact({ name, parent_id: Type.Optional(nullable(Type.String())) });
export type CreateGroup = Static<typeof createBody>;
const updateBody = exact({ name: Type.Optional(name) });
export type UpdateGroup = Static<typeof updateBody>;
const moveBody = exact({ parent_id: nullable(Type.String()) });
export type MoveGroup = Static<typeof moveBody>;

const on = operationsOn(groupResource, 'Groups', { since: 'everglades' });
export const groupOperations: Operation[] = [
  on.list('listGroups', 'List groups'),
  on.create('createGroup', 'Create a group', () => createBody),
  on.get('getGroup', 'Get a group'),
  on.update('updateGroup', 'Rename a group', () => updateBody),
  on.below('moveGroup', 'move', 'Move a group below another, or to the top level', {
    method: 'POST',
    scopes: ['groups:write'],
    kind: 'group',
    body: () => moveBody,
  }),
];
