/**
 * How this platform has its groups written: neither the paths nor the fields are shown, only that groups can be created, renamed,
 * moved and read. Found once, with groups of its own, before anything is held against the model.
 */
import type { HttpResponse } from '../../../../harness/client/http.ts';
import { create, unique } from '../../support/create.ts';
import type { Item } from '../../support/lists.ts';
import type { Platform } from '../../support/platform.ts';
import { read } from '../../support/read.ts';
import { ok, send } from '../../support/send.ts';

/** What to send to give a group that name and that parent. */
type Form = (group: { id: string; name: string; parent: string | null }) => {
  method: string;
  path: string;
  body: object;
};

export interface GroupForms {
  /** The field that names the parent. */
  parentField: string;
  /** `undefined`: none of the usual ones is there. */
  rename: Form | undefined;
  move: Form | undefined;
}

const NOT_THERE = new Set([404, 405, 501]);
const pathOf = (id: string): string => `/groups/${encodeURIComponent(id)}`;

/** Blocks the check when no field carries the parent of a group. */
export async function findForms(t: Platform): Promise<GroupForms> {
  const [above, other] = [await newGroup(t), await newGroup(t)];
  const { parentField, group } = await findParentField(t, above.id);
  const placed = ({ id, name }: Item) => ({ id, name: String(name), parent: above.id });
  const renamed = { ...placed(group), name: unique('group') };
  const rename = await firstThatWorks(t, renameForms(parentField), renamed, (now) => now['name'] === renamed.name);
  // One of its own: what is wrong with renaming has nothing to do with moving.
  const moved = { ...placed(await newGroup(t, { [parentField]: above.id })), parent: other.id };
  const move = await firstThatWorks(t, moveForms(parentField), moved, (now) => now[parentField] === other.id);
  return { parentField, rename, move };
}

const newGroup = (t: Platform, parent: object = {}): Promise<Item> =>
  create(t, '/groups', { name: unique('group'), ...parent });

/** `parent_id`, else a field of a group that takes the id of its parent and shows it. */
async function findParentField(t: Platform, above: string): Promise<{ parentField: string; group: Item }> {
  const usual = await newGroup(t, { parent_id: above });
  const shown = await read(t, 'groups', usual.id);
  if ('parent_id' in shown) return { parentField: 'parent_id', group: usual };
  const candidates = Object.entries(shown).filter(([name, value]) => value === above || /parent/i.test(name));
  for (const [parentField, value] of candidates) {
    const group = value === above ? usual : await newGroup(t, { [parentField]: above });
    if ((await read(t, 'groups', group.id))[parentField] === above) return { parentField, group };
  }
  return t.blocked(`set-up: a group created with parent_id ${above} shows no such parent: ${JSON.stringify(shown)}`);
}

const renameForms = (parentField: string): Form[] => [
  ({ id, name }) => ({ method: 'PATCH', path: pathOf(id), body: { name } }),
  ({ id, name, parent }) => ({ method: 'PUT', path: pathOf(id), body: { name, [parentField]: parent } }),
  ({ id, name }) => ({ method: 'POST', path: `${pathOf(id)}/rename`, body: { name } }),
];
const moveForms = (parentField: string): Form[] => [
  ({ id, parent }) => ({ method: 'POST', path: `${pathOf(id)}/move`, body: { [parentField]: parent } }),
  ({ id, parent }) => ({ method: 'PATCH', path: pathOf(id), body: { [parentField]: parent } }),
  ({ id, name, parent }) => ({ method: 'PUT', path: pathOf(id), body: { name, [parentField]: parent } }),
];

/** What answers at the first, published, path is that form, right or wrong; any other has to be seen to have its effect. */
async function firstThatWorks(
  t: Platform,
  forms: readonly Form[],
  group: Parameters<Form>[0],
  took: (now: Item) => boolean,
): Promise<Form | undefined> {
  for (const [index, form] of forms.entries()) {
    const response = await send(t, form(group));
    if (index === 0 && !NOT_THERE.has(response.status)) return form;
    if (ok(response) && took(await read(t, 'groups', group.id))) return form;
  }
  return undefined;
}

export const sendAs = (t: Platform, form: Form, group: Parameters<Form>[0]): Promise<HttpResponse> =>
  send(t, form(group));
