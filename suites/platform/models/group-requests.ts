/**
 * How this platform renames and moves groups. The specification shows neither the paths nor the fields, so the usual
 * ones are tried once, on groups created for that, before the model runs.
 */

import { uniqueName } from '../../../harness/common/names.ts';
import { create } from '../support/create.ts';
import { type Item, readItem } from '../support/lists.ts';
import { NOT_SERVED, ok, type Platform, send } from '../support/requests.ts';

export interface Group {
  id: string;
  name: string;
  /** Id of the group above it; `null` at the top, undefined where nobody can know. */
  parent: string | null | undefined;
}

/** The request that gives a group the name and the parent of its argument. */
type GroupRequest = (group: Group) => { method: string; path: string; body: object };

export interface GroupRequests {
  /** Name of the field that holds the id of the parent. */
  parentField: string;
  /** `undefined`: the platform has none of the usual ones. */
  rename: GroupRequest | undefined;
  move: GroupRequest | undefined;
}

/** Blocks the check if no field shows the parent of a group. */
export async function findGroupRequests(t: Platform): Promise<GroupRequests> {
  const [above, other] = [await createGroup(t), await createGroup(t)];
  const { parentField, group } = await findParentField(t, above.id);
  const below = ({ id, name }: Item): Group => ({ id, name: String(name), parent: above.id });
  const renamed = { ...below(group), name: uniqueName('group') };
  const rename = await firstThatWorks(t, renameRequests(parentField), renamed, (now) => now['name'] === renamed.name);
  // Another group, so that a fault in renaming does not look like a fault in moving.
  const moved = { ...below(await createGroup(t, { [parentField]: above.id })), parent: other.id };
  const move = await firstThatWorks(t, moveRequests(parentField), moved, (now) => now[parentField] === other.id);
  return { parentField, rename, move };
}

const createGroup = (t: Platform, parent: object = {}): Promise<Item> =>
  create(t, '/groups', { name: uniqueName('group'), ...parent });

/**
 * `parent_id`, or else a field that takes the id of the parent when a group is created and shows it when the group is
 * read.
 */
async function findParentField(t: Platform, above: string): Promise<{ parentField: string; group: Item }> {
  const usual = await createGroup(t, { parent_id: above });
  const shown = await readItem(t, 'groups', usual.id);
  if ('parent_id' in shown) return { parentField: 'parent_id', group: usual };
  const candidates = Object.entries(shown).filter(([name, value]) => value === above || /parent/i.test(name));
  for (const [parentField, value] of candidates) {
    const group = value === above ? usual : await createGroup(t, { [parentField]: above });
    if ((await readItem(t, 'groups', group.id))[parentField] === above) return { parentField, group };
  }
  return t.blocked(`set-up: a group created with parent_id ${above} shows no such parent: ${JSON.stringify(shown)}`);
}

const pathOf = (id: string): string => `/groups/${encodeURIComponent(id)}`;

const renameRequests = (parentField: string): GroupRequest[] => [
  ({ id, name }) => ({ method: 'PATCH', path: pathOf(id), body: { name } }),
  ({ id, name, parent }) => ({ method: 'PUT', path: pathOf(id), body: { name, [parentField]: parent } }),
  ({ id, name }) => ({ method: 'POST', path: `${pathOf(id)}/rename`, body: { name } }),
];
const moveRequests = (parentField: string): GroupRequest[] => [
  ({ id, parent }) => ({ method: 'POST', path: `${pathOf(id)}/move`, body: { [parentField]: parent } }),
  ({ id, parent }) => ({ method: 'PATCH', path: pathOf(id), body: { [parentField]: parent } }),
  ({ id, name, parent }) => ({ method: 'PUT', path: pathOf(id), body: { name, [parentField]: parent } }),
];

/**
 * The first request is the published one: it is taken if the path is served at all. Any other has to be seen to take
 * effect.
 */
async function firstThatWorks(
  t: Platform,
  requests: readonly GroupRequest[],
  group: Group,
  tookEffect: (now: Item) => boolean,
): Promise<GroupRequest | undefined> {
  for (const [index, request] of requests.entries()) {
    const response = await send(t, request(group));
    if (index === 0 && !NOT_SERVED.includes(response.status)) return request;
    if (ok(response) && tookEffect(await readItem(t, 'groups', group.id))) return request;
  }
  return undefined;
}
