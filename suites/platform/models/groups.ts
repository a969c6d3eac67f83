/** A tree of device groups as a client built it, and sequences of what a client can do with it. */

import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../../harness/common/defined.ts';
import { uniqueName } from '../../../harness/common/names.ts';
import { pollWithin } from '../../../harness/common/waiting.ts';
import { always, command } from '../../commands.ts';
import { createdItem } from '../support/create.ts';
import { type Item, readItem } from '../support/lists.ts';
import { describeRequest, describeResponse, ok, type Platform, refused, send } from '../support/requests.ts';
import type { Group, GroupRequests } from './group-requests.ts';

export interface KnownGroup extends Group {
  /** Names that it may have instead, where the order of writes is not known. */
  orNames?: readonly string[];
}

export interface GroupModel {
  /** In the order of creation; the first is the root that was created for this sequence. */
  groups: KnownGroup[];
}

export interface GroupReality {
  t: Platform;
  requests: GroupRequests;
}

type Command = AsyncCommand<GroupModel, GroupReality>;

const anyGroup = fc.nat({ max: 5 });

export const groupCommands = (replayPath: string | undefined) =>
  fc.commands(
    [
      anyGroup.map(createBelow),
      fc.tuple(anyGroup, fc.constantFrom(...NAMES)).map(([which, name]) => renameOne(which, name)),
      fc.tuple(anyGroup, fc.option(anyGroup, { nil: undefined, freq: 5 })).map(([which, to]) => moveOne(which, to)),
    ],
    { maxCommands: 14, ...defined({ replayPath }) },
  );

/** Creates a group below one of those that are there. */
const createBelow = (below: number): Command =>
  command('create a group', always, async (model, real, show) => {
    const t: Platform = real.t;
    const parent = nth(model.groups, below)?.id ?? null;
    const name = uniqueName('group');
    const body = { name, [real.requests.parentField]: parent };
    show(describeRequest('POST', '/groups', body));
    const response = await send(t, { method: 'POST', path: '/groups', body });
    if (isTooDeep(model, undefined, parent) && refused(response)) return;
    const group = createdItem(response);
    t.must(group !== undefined, {
      expected: `a group below ${parent ?? 'nothing'} to be created`,
      actual: describeResponse(response),
    });
    model.groups.push({ id: group.id, name, parent });
    await mustBeTree(model, real);
  });

const hasGroups = ({ groups }: Readonly<GroupModel>): boolean => groups.length > 0;

/** The next name of a group: of the usual length, shorter, longer, and the one that it has. */
const NAMES: readonly ((name: string) => string)[] = [
  () => uniqueName('group'),
  () => uniqueName('g'),
  () => uniqueName('group-with-a-longer-name'),
  (name) => name,
];

/** Gives one of the groups its next name; it stays where it is. */
const renameOne = (which: number, nextName: (name: string) => string): Command =>
  command('rename a group', hasGroups, async (model, real, show) => {
    const t: Platform = real.t;
    const group = nth(model.groups, which);
    const { rename } = real.requests;
    if (group === undefined || rename === undefined) return;
    const name = nextName(group.name);
    const request = rename({ ...group, name });
    show(describeRequest(request.method, request.path, request.body));
    const response = await send(t, request);
    // The name that it has may count as taken.
    if (name === group.name && refused(response)) return;
    t.must(ok(response), { expected: `group ${group.id} to be renamed`, actual: describeResponse(response) });
    const renamed = createdItem(response);
    if (renamed !== undefined && renamed.id !== group.id) {
      t.should(false, { expected: `${group.id} to keep its id when it is renamed`, actual: renamed.id });
      // Nobody can know where the groups below it are now: groups created from here on form a new tree.
      model.groups = [];
      return;
    }
    group.name = name;
    await mustBeTree(model, real);
  });

/**
 * Moves one group below another, or to the top without `to`. A move that would close a circle is refused or has no
 * effect.
 */
const moveOne = (which: number, to: number | undefined): Command =>
  command('move a group', hasGroups, async (model, real, show) => {
    const t: Platform = real.t;
    const group = nth(model.groups, which);
    const { move } = real.requests;
    if (group === undefined || move === undefined) return;
    const parent = to === undefined ? null : (nth(model.groups, to)?.id ?? null);
    const request = move({ ...group, parent });
    show(describeRequest(request.method, request.path, request.body));
    const response = await send(t, request);
    if (pathToTop(model, parent).includes(group.id)) {
      t.should(refused(response), { expected: 'a 4xx to a move below itself', actual: describeResponse(response) });
      // A platform may accept the move and repair the tree in its own way, as long as there is no circle.
      if (ok(response)) await adoptParents(model, real);
    } else if (ok(response)) {
      group.parent = parent;
    } else {
      const mayRefuse = group.parent === parent || isTooDeep(model, group.id, parent);
      t.must(mayRefuse, {
        expected: `group ${group.id} to be moved below ${parent ?? 'nothing'}`,
        actual: describeResponse(response),
      });
    }
    await mustBeTree(model, real);
  });

/**
 * A chain of three groups whose top moves below its end: the shortest circle that is more than a group below itself.
 */
export const CIRCLE: Command[] = [createBelow(0), createBelow(1), moveOne(0, 2)];

const nth = <T>(items: readonly T[], which: number): T | undefined => items[which % items.length];

/** The group itself and every group above it. */
function pathToTop(model: GroupModel, id: string | null | undefined): string[] {
  const path: string[] = [];
  for (let at = id; typeof at === 'string' && !path.includes(at); ) {
    path.push(at);
    at = model.groups.find((group) => group.id === at)?.parent;
  }
  return path;
}

/** A platform may refuse a tree of more levels. */
const LEVELS_ALLOWED = 3;

/** Whether the tree would have too many levels with `id`, and everything below it, under `parent`. */
function isTooDeep(model: GroupModel, id: string | undefined, parent: string | null | undefined): boolean {
  const above = pathToTop(model, parent).length;
  const below = model.groups
    .map((group) => pathToTop(model, group.id))
    .flatMap((path) => (id !== undefined && path.includes(id) ? [path.indexOf(id) + 1] : []));
  return above + Math.max(1, ...below) > LEVELS_ALLOWED;
}

/** Takes over the parents that the platform shows. */
async function adoptParents(model: GroupModel, { t, requests }: GroupReality): Promise<void> {
  await Promise.all(
    model.groups.map(async (group) => {
      const parent = (await readItem(t, 'groups', group.id))[requests.parentField];
      group.parent = typeof parent === 'string' ? parent : null;
    }),
  );
}

const READ = 'groups that read as they were written';
/** The specification does not say how soon a read shows what was written. */
const SHARE_OF_PATIENCE = 1 / 2;

/** Every group reads as in the model, in the end, and its parents lead to a top. */
export async function mustBeTree(model: GroupModel, real: GroupReality): Promise<void> {
  const t: Platform = real.t;
  const waits = t.session.waits.platform;
  const timeoutMs = waits.within(READ, t.patienceMs * SHARE_OF_PATIENCE);
  const started = performance.now();
  let problem: Problem | undefined;
  const look = async (): Promise<true | undefined> => {
    problem = await problemOf(model, real);
    return problem === undefined || undefined;
  };
  const wait = { timeoutMs, firstPauseMs: 50, growth: 2, signal: t.signal };
  if ((await pollWithin(READ, look, wait)) === true) return waits.succeeded(READ, performance.now() - started);
  waits.timedOut(READ);
  t.must(problem === undefined, problem ?? { expected: READ, actual: 'none' });
}

type Problem = Parameters<Platform['must']>[1];

async function problemOf(model: GroupModel, { t, requests }: GroupReality): Promise<Problem | undefined> {
  const { parentField } = requests;
  const seen = new Map<string, Item>(
    await Promise.all(model.groups.map(async ({ id }) => [id, await readItem(t, 'groups', id)] as const)),
  );
  for (const { id } of model.groups) {
    const path = new Set<string>();
    for (let at: unknown = id; typeof at === 'string' && seen.has(at); at = seen.get(at)?.[parentField]) {
      if (path.has(at)) {
        const circle = `a circle: ${[...path, at].join(' → ')}`;
        return { expected: 'a tree: the parents of every group lead to a top', actual: circle };
      }
      path.add(at);
    }
  }
  for (const { id, name, orNames = [], parent } of model.groups) {
    const group = seen.get(id);
    const isNamed = [name, ...orNames].some((one) => group?.['name'] === one);
    if (isNamed && (parent === undefined || (group?.[parentField] ?? null) === parent)) continue;
    return {
      expected: `group ${id} named ${[name, ...orNames].join(' or ')} below ${parent ?? 'nothing'}`,
      actual: `named ${group?.['name']} below ${group?.[parentField] ?? 'nothing'}`,
    };
  }
  return undefined;
}
