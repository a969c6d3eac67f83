/** Section 9, everglades: groups form a tree, and no device can write its group. */
import { ok, refused, serverError } from '../support/requests.ts';
import { type Ask, askFor, type Exchange } from './exchange.ts';
import { type Explorer, operation } from './explorer.ts';
import type { KnownRecord } from './model.ts';
import { isCircle, pathFrom, readRecord, type World } from './world.ts';
import type { Writes } from './writes.ts';

export async function groupsOfDevices(
  ex: Explorer,
  { writes, devices: [device], groups: [group] }: World,
): Promise<void> {
  if (device === undefined || group === undefined) return;
  const bodies = [{ group_id: group.id }, { name: writes.name(), group_id: group.id }, { group: { id: group.id } }];
  for (const body of bodies) {
    for (const name of ['updated_at', 'name']) device.members.delete(name);
    await ex.write(askFor(operation('updateDevice'), ex.newest, [device.id], { body }));
    await readRecord(ex, device, ex.newest);
  }
  const body = { name: writes.name(), group_id: group.id };
  const made = await ex.write(askFor(operation('createDevice'), ex.newest, [], { body }));
  const { id, group_id: shown } = (made.json ?? {}) as { id?: string; group_id?: unknown };
  const isWritten = ok(made) && id !== undefined && shown === group.id;
  const expected = 'no group to be written with a device';
  ex.hold(made, !isWritten, 'side-effect', '/group_id', expected, shown);
}

export async function circles(ex: Explorer, { groups }: World): Promise<void> {
  for (const group of groups) await readRecord(ex, group, ex.newest);
  const isShown = ex.model.presence.get('group read parent_id')?.shown.size ?? 0;
  const chains = groups.map((group) => pathFrom(ex, group.id));
  const [chain = []] = chains.toSorted((one, other) => other.length - one.length);
  const above = groups.find(({ id }) => id === chain.at(-1));
  if (chain.length < 2 || above === undefined || isShown === 0) return;
  for (const to of chain) {
    const ask = askFor(operation('moveGroup'), ex.newest, [above.id], { body: { parent_id: to } });
    const exchange = await ex.write(ask);
    // Forgets the parents after a move that is not refused: it may take effect, and the platform may repair the tree in
    // any way.
    if (!refused(exchange)) for (const group of groups) group.members.delete('parent_id');
    for (const group of groups) await readRecord(ex, group, ex.newest);
    const path = pathFrom(ex, above.id);
    const circle = isCircle(path) ? path : undefined;
    ex.hold(exchange, circle === undefined, 'circle', '/parent_id', TREE, circle?.join(' → '));
    ex.hold(exchange, !ok(exchange), 'accepted', '/parent_id', 'a 4xx to a move below itself', exchange.status);
  }
}

const TREE = 'a tree: the parents of every group lead to a top';

/** Expects concurrent moves and renames to have the result of the accepted writes in some order. */
export async function groupsAtOnce(ex: Explorer, { writes }: World): Promise<void> {
  const groups = await Promise.all([add(writes), add(writes), add(writes)]);
  const [one, other, third] = groups;
  if (one === undefined || other === undefined || third === undefined) return;
  // Repeats three times, because concurrent writes collide only sometimes.
  for (let round = 0; round < 3; round += 1) {
    for (const group of [one, other, third]) {
      if (group.parent === null) continue;
      await writes.change(ex.newest, group.record, 'moveGroup', { parent_id: null });
      group.parent = null;
    }
    const { json } = (await readRecord(ex, one.record, ex.newest)) ?? {};
    if ((json as { parent_id?: unknown } | undefined)?.parent_id !== null) return;
    const move = ({ record: { id } }: Group, to: Group): Ask =>
      askFor(operation('moveGroup'), ex.newest, [id], { body: { parent_id: to.record.id } });
    const rename = (): Ask =>
      askFor(operation('updateGroup'), ex.newest, [third.record.id], { body: { name: writes.name() } });
    const swapped = await answersAtOnce(ex, [move(one, other), move(other, one)]);
    if (swapped === undefined) return;
    const [isDown = false, isUp = false] = swapped.map(ok);
    // A platform may repair the tree in any way after two accepted moves.
    const isOpen = isDown && isUp;
    one.parent = isOpen ? undefined : isDown ? other.record.id : null;
    other.parent = isOpen ? undefined : isUp ? one.record.id : null;
    // Renames before and after the move, because requests may arrive in any order.
    const changed = await answersAtOnce(ex, [rename(), move(third, other), rename()]);
    if (changed === undefined) return;
    const [first, moved, last] = changed as [Exchange, Exchange, Exchange];
    if (ok(moved)) third.parent = other.record.id;
    third.names = namesAfter(third, [first, last]);
    if (!(await expectTree(ex, groups as Group[]))) return;
    const renamed = await answersAtOnce(ex, [rename(), rename(), rename()]);
    if (renamed === undefined) return;
    third.names = namesAfter(third, renamed);
    if (!(await expectTree(ex, groups as Group[]))) return;
  }
}

async function answersAtOnce(ex: Explorer, asks: readonly Ask[]): Promise<Exchange[] | undefined> {
  const answers = await Promise.all(asks.map((ask) => ex.send(ask)));
  const isClear = answers.every((answer) => ok(answer) || refused(answer));
  for (const answer of answers)
    if (serverError(answer) && answer.status !== 501)
      ex.hold(answer, false, 'error', ' at once', 'no 5xx', answer.text || answer.status);
  for (const { ids } of asks)
    for (const name of isClear ? ['updated_at'] : ['updated_at', 'name', 'parent_id'])
      ex.model.known(ids[0], 'group')?.members.delete(name);
  return isClear ? answers : undefined;
}

function namesAfter({ names }: Group, answers: readonly Exchange[]): readonly unknown[] {
  const accepted = answers.filter(ok).map(({ body }) => (body as { name: string }).name);
  return accepted.length > 0 ? accepted : names;
}

/** Group with its possible names; an undefined parent allows any. */
interface Group {
  record: KnownRecord;
  names: readonly unknown[];
  parent: string | null | undefined;
}

async function add(writes: Writes): Promise<Group | undefined> {
  const record = await writes.group(null);
  return record && { record, names: [record.members.get('name')?.value], parent: null };
}

async function expectTree(ex: Explorer, groups: readonly Group[]): Promise<boolean> {
  const read = ({ record }: Group): Promise<Exchange> => ex.send(askFor(operation('getGroup'), ex.newest, [record.id]));
  const look = async () => {
    const answers = await Promise.all(groups.map(read));
    for (const [index, { record }] of groups.entries())
      for (const name of ['name', 'parent_id']) {
        const { [name]: value } = (answers[index]?.json ?? {}) as Readonly<Record<string, unknown>>;
        const known = record.members.get(name);
        if (known !== undefined) record.members.set(name, { ...known, value });
      }
    return groups.every((group) => problemOf(ex, group) === undefined);
  };
  const isThere = await ex.comes('groups that read as they were written', look);
  for (const group of groups) {
    const exchange = await read(group);
    const [expected, actual] = problemOf(ex, group) ?? ['', ''];
    if (ok(exchange)) ex.hold(exchange, expected === '', 'circle', '/parent_id at once', expected, actual);
  }
  return isThere;
}

function problemOf(ex: Explorer, { record, names, parent }: Group): [string, string] | undefined {
  const path = pathFrom(ex, record.id);
  if (isCircle(path)) return [TREE, path.join(' → ')];
  const [name, above] = ['name', 'parent_id'].map((each) => record.members.get(each)?.value ?? null);
  if (names.includes(name) && (parent === undefined || above === parent)) return undefined;
  const expected = `${record.id} named ${names.join(' or ')}, below ${parent ?? 'nothing'}`;
  return [expected, `named ${name} below ${above ?? 'nothing'}`];
}
