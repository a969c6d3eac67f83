/** Section 9, 2026-08-17.everglades: whether device groups form a tree, and a device cannot change its group. */

import fc from 'fast-check';
import { uniqueName } from '../../harness/common/names.ts';
import { describeCommands } from '../../harness/runner/property.ts';
import { findGroupRequests, type GroupRequests } from './models/group-requests.ts';
import {
  CIRCLE,
  type GroupModel,
  type GroupReality,
  groupCommands,
  type KnownGroup,
  mustBeTree,
} from './models/groups.ts';
import { byExploring } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import { create } from './support/create.ts';
import { describeResponse, inVersion, ok, type PlatformRequest, refused, send } from './support/requests.ts';

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
check(tree, options, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const requests = await findGroupRequests(everglades);
  const setUp = await createRoot(everglades, requests);
  await fc.asyncModelRun(() => setUp, CIRCLE);
  await t.property(
    groupCommands(t.replayPath),
    async (commands) => {
      const fresh = await createRoot(everglades, requests);
      await fc.asyncModelRun(() => fresh, commands);
    },
    { runs: 8, describe: describeCommands },
  );
  const unknown = (['rename', 'move'] as const).filter((verb) => requests[verb] === undefined);
  if (unknown.length > 0) {
    t.notApplicable(`groups were created and read; the path to ${unknown.join(' and ')} is not known`);
  }
});

async function createRoot(t: Platform, requests: GroupRequests): Promise<{ model: GroupModel; real: GroupReality }> {
  const name = uniqueName('group');
  const { id } = await create(t, '/groups', { name, [requests.parentField]: null });
  return { model: { groups: [{ id, name, parent: null }] }, real: { t, requests } };
}

check(...byExploring(tree, { ...options, makes: 'group', aspect: 'membership' }));

check(tree, { ...options, aspect: 'concurrent', premises: [tree.id] }, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const requests = await findGroupRequests(everglades);
  const { rename, move, parentField } = requests;
  if (rename === undefined || move === undefined) return t.notApplicable('the path to rename or move is not known');
  const { model, real } = await createRoot(everglades, requests);
  const add = async (): Promise<KnownGroup> => {
    const name = uniqueName('group');
    const { id } = await create(everglades, '/groups', { name, [parentField]: null });
    const group: KnownGroup = { id, name, parent: null };
    model.groups.push(group);
    return group;
  };
  // A race may be lost now and then.
  for (let round = 0; round < 3; round += 1) {
    const [one, other, third] = [await add(), await add(), await add()];
    const [down, up] = await writeAtOnce(everglades, [
      move({ ...one, parent: other.id }),
      move({ ...other, parent: one.id }),
    ]);
    // Where both were accepted, the platform may have repaired the tree in its own way.
    one.parent = down && up ? undefined : down ? other.id : null;
    other.parent = down && up ? undefined : up ? one.id : null;
    await mustBeTree(model, real);

    const name = uniqueName('group');
    const both = [move({ ...third, parent: other.id }), rename({ ...third, name })];
    const [moved, named] = await writeAtOnce(everglades, both);
    // A request that writes the whole group writes again what the other one has changed.
    const isWhole = both.some(({ method }) => method === 'PUT');
    if (moved) third.parent = isWhole ? undefined : other.id;
    if (named) [third.name, third.orNames] = [name, isWhole ? [third.name] : []];
    await mustBeTree(model, real);

    const names = Array.from({ length: 3 }, () => uniqueName('group'));
    const taken = await writeAtOnce(
      everglades,
      names.map((each) => rename({ ...third, name: each })),
    );
    const accepted = names.filter((_, index) => taken[index]);
    if (accepted.length > 0) [third.name = '', ...third.orNames] = accepted;
    await mustBeTree(model, real);
  }
});

/** Which of the requests were accepted. What a server error leaves behind is not known, so it ends the check. */
async function writeAtOnce(t: Platform, requests: readonly PlatformRequest[]): Promise<boolean[]> {
  const answers = await Promise.all(requests.map((request) => send(t, request)));
  t.saw('writes at the same time', answers.length);
  for (const answer of answers)
    if (!ok(answer) && !refused(answer)) t.undecided(`a write beside another: ${describeResponse(answer)}`);
  return answers.map((answer) => ok(answer));
}
