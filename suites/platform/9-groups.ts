/** Section 9, 2026-08-17.everglades: whether device groups form a tree, and a device cannot change its group. */
import { uniqueName } from '../../harness/common/names.ts';
import { pollWithin } from '../../harness/common/waiting.ts';
import { byExploring } from './oracle/decided.ts';
import type { Looked } from './oracle/found.ts';
import { type Platform, section } from './support/check.ts';
import { create } from './support/create.ts';
import { type Item, readItem } from './support/lists.ts';
import {
  describeResponse,
  inVersion,
  NOT_SERVED,
  ok,
  type PlatformRequest,
  refused,
  send,
} from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const options = { needs: ['write', 'everglades'] } as const;

const tree = requirement({
  id: 'platform.group.tree',
  level: 'MUST',
  clause: "Device groups (create, rename, move; a device's group membership is read-only)",
  text:
    'Groups can be created, renamed, moved and read, and form a tree after any move; ' +
    'a write to a device cannot change its group.',
});
check(...byExploring(tree, { ...options, makes: 'group' }));
const isMembership = ({ path, what }: Looked): boolean => path.endsWith('/group_id') || what === 'error';
check(...byExploring(tree, { ...options, makes: 'group', aspect: 'membership', isMeant: isMembership }));

/** Reads it with one of the names, since renamings come in any order, and below that parent if it is known. */
interface Group {
  id: string;
  names: readonly string[];
  parent: string | null | undefined;
}

const pathTo = ({ id }: Group): string => `/groups/${encodeURIComponent(id)}`;
const rename = (group: Group, name: string): PlatformRequest => ({
  ...{ method: 'PATCH', path: pathTo(group), body: { name } },
});
const move = (group: Group, { id }: Group): PlatformRequest => ({
  ...{ method: 'POST', path: `${pathTo(group)}/move`, body: { parent_id: id } },
});

check(tree, { ...options, aspect: 'concurrent', premises: [tree.id] }, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const add = async (): Promise<Group> => {
    const name = uniqueName('group');
    const { id, parent_id: parent } = await create(everglades, '/groups', { name });
    if (parent !== null) t.notApplicable('a group shows no parent_id');
    return { id, names: [name], parent: null };
  };
  // A race may be lost now and then.
  for (let round = 0; round < 3; round += 1) {
    const [one, other, third] = [await add(), await add(), await add()];
    const groups = [one, other, third];
    const [down, up] = await writeAtOnce(everglades, [move(one, other), move(other, one)]);
    // Where both were accepted, the platform may have repaired the tree in its own way.
    one.parent = down && up ? undefined : down ? other.id : null;
    other.parent = down && up ? undefined : up ? one.id : null;
    await mustBeTree(everglades, groups);

    const name = uniqueName('group');
    const [moved, named] = await writeAtOnce(everglades, [move(third, other), rename(third, name)]);
    if (moved) third.parent = other.id;
    if (named) third.names = [name];
    await mustBeTree(everglades, groups);

    const names = Array.from({ length: 3 }, () => uniqueName('group'));
    const taken = await writeAtOnce(
      everglades,
      names.map((each) => rename(third, each)),
    );
    const accepted = names.filter((_, index) => taken[index]);
    if (accepted.length > 0) third.names = accepted;
    await mustBeTree(everglades, groups);
  }
});

/** Which of the requests were accepted. What a server error leaves behind is not known, so it ends the check. */
async function writeAtOnce(t: Platform, requests: readonly PlatformRequest[]): Promise<boolean[]> {
  const answers = await Promise.all(requests.map((request) => send(t, request)));
  t.saw('writes at the same time', answers.length);
  for (const answer of answers) {
    if (NOT_SERVED.includes(answer.status)) t.notApplicable('the path to rename or move a group is not known');
    if (!ok(answer) && !refused(answer)) t.undecided(`a write beside another: ${describeResponse(answer)}`);
  }
  return answers.map((answer) => ok(answer));
}

/** In the end: the specification does not say how soon a read shows what was written. */
async function mustBeTree(t: Platform, groups: readonly Group[]): Promise<void> {
  let problem: Parameters<Platform['must']>[1] | undefined;
  const look = async (): Promise<true | undefined> => {
    problem = await problemOf(t, groups);
    return problem === undefined || undefined;
  };
  const wait = { timeoutMs: t.patienceMs / 2, firstPauseMs: 50, growth: 2, signal: t.signal };
  await pollWithin('groups that read as they were written', look, wait);
  if (problem !== undefined) t.must(false, problem);
}

async function problemOf(t: Platform, groups: readonly Group[]): Promise<Parameters<Platform['must']>[1] | undefined> {
  const items = await Promise.all(groups.map(({ id }) => readItem(t, 'groups', id)));
  const shown = new Map(items.map((item) => [item.id, item]));
  for (const { id, names, parent } of groups) {
    const path: unknown[] = [];
    for (let at: unknown = id; shown.has(at as string); at = shown.get(at as string)?.['parent_id']) {
      if (path.includes(at))
        return { expected: 'a tree: the parents of every group lead to a top', actual: [...path, at].join(' → ') };
      path.push(at);
    }
    const { name, parent_id: above = null } = shown.get(id) as Item;
    if (names.some((each) => each === name) && (parent === undefined || above === parent)) continue;
    const expected = `group ${id} named ${names.join(' or ')} below ${parent ?? 'nothing'}`;
    return { expected, actual: `named ${name} below ${above ?? 'nothing'}` };
  }
  return undefined;
}
