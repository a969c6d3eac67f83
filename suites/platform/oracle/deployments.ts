import { versionNamed } from '../../../harness/contract/versions.ts';
import { ok, refused } from '../support/requests.ts';
import { askFor, type Exchange } from './exchange.ts';
import { type Explorer, operation } from './explorer.ts';
import type { KnownRecord } from './model.ts';
import { AT_ONCE, type World } from './world.ts';

type Parent = string | null | undefined;
const VERSION = versionNamed('everglades');

async function deployAny(
  { writes, parts, deployments }: World,
  device: KnownRecord,
  parent: Parent,
  targets: readonly string[] = ['deployed', 'staged'],
): Promise<KnownRecord | undefined> {
  // Tries the newest release too, because a platform may deploy no other.
  for (const target of targets)
    for (const part of new Set([...parts.slice(0, 2), ...parts.slice(-1)])) {
      const made = await writes.deployment(VERSION, { device, ...part }, { target, parent });
      if (made === undefined) continue;
      deployments.push(made);
      return made;
    }
  return undefined;
}

const readAlone = (ex: Explorer, { id }: KnownRecord): Promise<Exchange> =>
  ex.send(askFor(operation('getDeployment'), ex.newest, [id]));
const stateIn = ({ json }: Exchange) =>
  (json ?? {}) as { readonly activity_status?: unknown; readonly target_status?: unknown };

async function waitForTarget(ex: Explorer, record: KnownRecord, isDue: (target: unknown) => boolean): Promise<boolean> {
  const look = async () => isDue(stateIn(await readAlone(ex, record)).target_status);
  return await ex.comes(`the target of ${record.id}`, look);
}

/** Tries `parent_id` (section 9, rule 3) on new devices without any deployment. */
export async function parents(ex: Explorer, world: World): Promise<void> {
  if (!ex.versions.includes(VERSION) || world.parts.length === 0) return;
  const device = await world.writes.device(VERSION);
  if (device === undefined) return;
  const alone = { device, parent: null, control: undefined };
  // Stages first, because a platform may refuse to archive a deployment that is deployed.
  const staged = { ...alone, targets: ['staged', 'deployed'] };
  const first = await accepts(ex, world, { ...staged, isNew: true, why: 'the device has no deployment at all' });
  if (first !== undefined) await world.writes.act(VERSION, first, 'archive');
  const { last } = world.writes;
  const isArchiving = first !== undefined && last !== undefined && ok(last);
  if (isArchiving && (await waitForTarget(ex, first, (target) => target === 'archived')))
    await accepts(ex, world, { ...alone, why: `its only deployment, ${first.id}, is archived` });
  await onTarget(ex, world);
  await atOnce(ex, world);
}

interface Expectation {
  device: KnownRecord;
  /** True for a device without any deployment, which the platform may come to know a little later. */
  isNew?: boolean;
  parent: Parent;
  /** Parent of a second attempt; if both are refused, the parent is not the reason. */
  control: Parent;
  why: string;
  targets?: readonly string[];
}

async function accepts(ex: Explorer, world: World, expectation: Expectation): Promise<KnownRecord | undefined> {
  const { device, isNew = false, parent, control, why, targets } = expectation;
  const made = await deployAny(world, device, parent, targets);
  const { last } = world.writes;
  const other = made ?? (await deployAny(world, device, control, targets));
  if (other === undefined || last === undefined) return undefined;
  const path = parent === null ? '/parent_id null' : '/parent_id';
  const expected = `a deployment with parent_id ${parent === undefined ? 'omitted' : parent}, as ${why}`;
  const actual = `${last.status} ${last.text.slice(0, 200)}; with ${control ?? 'none'} ${other.id} was created`;
  const isTakenLater = async (): Promise<boolean> => {
    // Takes another new device, because the first one has a deployment by now.
    const another = (await world.writes.device(VERSION)) ?? device;
    return await ex.comes(expected, async () => (await deployAny(world, another, parent, targets)) !== undefined);
  };
  // A server error proves nothing about the parent.
  if (made !== undefined || refused(last)) {
    const isTaken = made !== undefined || (isNew && (await isTakenLater()));
    ex.hold(last, isTaken, 'parent', path, expected, actual);
  }
  return other;
}

/** On a device with a current target, `parent_id` may name it or be omitted, but must not be null. */
async function onTarget(ex: Explorer, world: World): Promise<void> {
  const { writes, deployments } = world;
  const device = await writes.device(VERSION);
  if (device === undefined) return;
  const expected = { device, parent: undefined, control: null, why: 'nothing is asserted' };
  const first = await accepts(ex, world, { ...expected, isNew: true });
  if (first === undefined) return;
  if (first.members.get('target_status')?.value !== 'deployed') await writes.act(VERSION, first, 'deploy');
  if (!(await waitForTarget(ex, first, (target) => target === 'deployed'))) return;
  await refusesNull(ex, world, device);
  // Stages a newer deployment, which must not count as the current target.
  await deployAny(world, device, undefined, ['staged']);
  const why = 'it is the current target of the device';
  const second = await accepts(ex, world, { device, parent: first.id, control: undefined, why });
  if (second === undefined) return;
  const isTarget = stateIn(await readAlone(ex, second)).target_status === 'deployed';
  if (isTarget) {
    const isReplaced = await waitForTarget(ex, first, (target) => target !== 'deployed');
    const why = `${first.id} not to be the target of its device any more, as ${second.id} is`;
    ex.hold(await readAlone(ex, first), isReplaced, 'targets', '/parent_id', why, 'target_status deployed');
  }
  const target = isTarget ? second : first;
  const filled = await accepts(ex, world, { ...expected, control: target.id });
  const parent = filled?.members.get('parent_id')?.value;
  // The published document allows a platform to fill in the parent.
  const isFilled = parent === undefined || parent === target.id;
  if (filled !== undefined)
    ex.hold(await readAlone(ex, filled), isFilled, 'targets', '/parent_id', `parent_id ${target.id}`, parent);
  const stranger = deployments.find(({ members }) => members.get('device_id')?.value !== device.id);
  if (stranger === undefined) return;
  const made = await deployAny(world, device, stranger.id);
  const answer = made === undefined ? 'refused' : 'accepted';
  ex.observed.set('platform.deployment.parent.accepted', ['parent_id of a deployment of another device', answer]);
}

async function refusesNull(ex: Explorer, world: World, device: KnownRecord): Promise<void> {
  const made = await deployAny(world, device, null);
  const { last } = world.writes;
  if (last === undefined) return;
  await ex.walk('deployment');
  const isUnasked = ({ id, ...item }: { id: string; [name: string]: unknown }): boolean =>
    item['device_id'] === device.id &&
    item['target_status'] !== 'archived' &&
    ex.model.known(id, 'deployment')?.isOurs !== true;
  const unasked = ex.model.list('deployment').reference?.items.find(isUnasked);
  const path = '/parent_id null beside a target';
  const expected = 'parent_id null to be refused, and nothing created: the device has a current target deployment';
  const isRefused = made === undefined && unasked === undefined;
  ex.hold(last, isRefused, 'parent', path, expected, made?.id ?? unasked?.id);
  ex.hold(last, ok(last) || refused(last), 'targets', path, 'a 4xx (409)', last.status);
}

async function atOnce(ex: Explorer, { writes, parts: [part], deployments }: World): Promise<void> {
  const device = await writes.device(VERSION);
  if (device === undefined || part === undefined) return;
  const asked = Array.from({ length: AT_ONCE }, () =>
    writes.deployment(VERSION, { device, ...part }, { target: 'deployed', parent: null }),
  );
  const made = (await Promise.all(asked)).filter((each) => each !== undefined);
  deployments.push(...made);
  const { last } = writes;
  if (last === undefined || made.length === 0) return;
  const expected = `one of ${AT_ONCE} deployments, which were asked for at once with parent_id null for one device`;
  ex.hold(last, made.length === 1, 'targets', '/parent_id null at once', expected, `${made.length} were created`);
}

/** Archived deployments cannot be deployed, drifted ones only after a review (section 2.2). */
export async function ends(ex: Explorer, world: World): Promise<void> {
  const { writes, parts } = world;
  const [device, another] = [await writes.device(ex.newest), await writes.device(ex.newest)];
  if (device === undefined || another === undefined) return;
  const archived = await deployAny(world, device, undefined, ['staged', 'deployed']);
  // Stages it now and deploys it later, so that its queue time differs from its creation time.
  const next = await deployAny({ ...world, parts: parts.slice(1) }, another, undefined, ['staged']);
  const drifted = await deployAny({ ...world, parts: parts.slice(0, 1) }, another, undefined, ['staged']);
  if (archived !== undefined) {
    await writes.act(ex.newest, archived, 'archive');
    await staysAt(ex, world, archived, 'archived');
  }
  if (drifted === undefined) return;
  if (next !== undefined) await writes.act(ex.newest, next, 'deploy');
  else await deployAny({ ...world, parts: parts.slice(1) }, another, undefined, ['deployed']);
  await staysAt(ex, world, drifted, 'drifted');
}

export async function staysAt(ex: Explorer, { writes }: World, record: KnownRecord, state: 'archived' | 'drifted') {
  const before = await readAlone(ex, record);
  const { activity_status: activity, target_status: target } = stateIn(before);
  if (activity !== state)
    return void ex.notes.push(`not asked to deploy again: a deployment that is ${activity}, not ${state}`);
  const path = `/activity_status ${state}`;
  const expected = `a target other than deployed in ${record.id}, which is ${state}`;
  // Judges the target only after a request to archive, because a deployment that a newer one replaced may keep its
  // target.
  const isAsked = record.members.get('target_status')?.value === 'archived';
  ex.hold(before, !isAsked || target !== 'deployed', 'revived', path, expected, target);
  await writes.act(ex.newest, record, 'deploy');
  const { last: answer = before } = writes;
  let after = answer;
  const stays = `${record.id} to stay ${state} when it is asked to deploy`;
  // Polls, because the reads may come from replicas that lag behind.
  const look = async (): Promise<boolean> => {
    after = await readAlone(ex, record);
    const now = stateIn(after);
    const isRetargeted = now.target_status === 'deployed' && target !== 'deployed';
    const isLeft = state === 'archived' && (now.activity_status !== state || isRetargeted);
    return !isLeft && now.activity_status !== 'queued' && now.activity_status !== 'deployed';
  };
  let isKept = await ex.comes(stays, look);
  if (isKept && state === 'archived' && ok(answer)) {
    // Waits 2 s, in which a platform may carry out a request that it has accepted.
    await ex.comes(`${record.id} to be deployed`, async () => !(await look()), 2000);
    isKept = await ex.comes(stays, look);
  }
  const { activity_status: now, target_status: towards } = stateIn(after);
  const actual = `${answer.status}, and it is ${now} with target ${towards}`;
  if (ok(after)) ex.hold(after, isKept, 'revived', path, stays, actual);
  const refusal = 'a 4xx to deploy of an archived deployment';
  if (state === 'archived') ex.hold(answer, !ok(answer), 'accepted', path, refusal, answer.status);
}
