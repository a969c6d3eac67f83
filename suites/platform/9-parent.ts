/** Section 9, migration rule 3: which values of `parent_id` are accepted when a deployment is created. */

import { pollWithin } from '../../harness/common/waiting.ts';
import { type Platform, section } from './support/check.ts';
import {
  actOn,
  createDevice,
  createdItem,
  createReleaseFixtures,
  LISTED_AT_MOST,
  postDeployment,
  type ReleaseFixture,
  tryDeployment,
} from './support/create.ts';
import { type Item, ids, readItem, walk } from './support/lists.ts';
import { describeResponse, inVersion, ok } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const parent = requirement({
  id: 'platform.deployment.parent',
  level: 'MUST',
  clause:
    '`parent_id` may be omitted or a deployment id; `null` asserts that the device has no current target deployment.',
  text:
    'On creation, parent_id may be omitted or a deployment id; ' +
    'null is accepted exactly if the device has no current target deployment.',
});
checkOnNewDevice('null-accepted', async (_t, stage) => {
  const why = 'the device has no deployment at all';
  await mustCreate(stage, { parent: null, why, control: undefined });
});

checkOnNewDevice('null-refused', async (t: Platform, stage) => {
  const { everglades, fixtures, device, created } = stage;
  await makeTarget(stage, await mustCreate(stage, OMITTED));
  const before = new Set([...ids([...created]), ...(await activeDeployments(stage))]);
  const { deployment, answers } = await tryDeployment(everglades, fixtures, device, null);
  const unasked = (await activeDeployments(stage)).filter((id) => !before.has(id) && id !== deployment?.id);
  if (deployment !== undefined) created.add(deployment);
  t.must(deployment === undefined, {
    expected: 'parent_id null to be refused: the device has a current target deployment',
    actual: answers.at(-1),
  });
  t.must(unasked.length === 0, {
    expected: 'no deployment to be created with parent_id null, which was refused',
    actual: `${unasked.join(', ')} of ${device}, after ${answers.join('; ')}`,
  });
  t.should(
    answers.every((answer) => / 4\d\d /.test(answer)),
    { expected: 'a 4xx (409)', actual: answers.join('; ') },
  );
});

checkOnNewDevice('accepted', async (t: Platform, stage) => {
  const { everglades, fixtures, device, created } = stage;
  const first = await mustCreate(stage, OMITTED);
  await makeTarget(stage, first);
  const why = 'it is the current target deployment of the device';
  const second = await mustCreate(stage, { parent: first.id, why, control: undefined });
  const replaced = second['target_status'] === 'deployed';
  const current = replaced ? second : first;
  if (replaced) await shouldBeReplaced(everglades, first, second);
  await mustCreateWithoutParent(stage, current);
  const [ofOtherDevice] = created;
  const { deployment, answers } = await tryDeployment(everglades, fixtures, device, ofOtherDevice?.id);
  if (deployment !== undefined) created.add(deployment);
  t.note(`parent_id of a deployment of another device (current is ${current.id}): ${answers.at(-1)}`);
  t.observe('parent_id of a deployment of another device', deployment === undefined ? 'refused' : 'accepted');
});

const AT_ONCE = 6;

checkOnNewDevice('at-once', async (t: Platform, { everglades, fixtures: [fixture], device, created }) => {
  const request = { device, target: 'deployed', parent: null } as const;
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, () => postDeployment(everglades, fixture, request)),
  );
  const accepted = answers.map(createdItem).filter((item) => item !== undefined);
  for (const item of accepted) created.add(item);
  if (accepted.length === 0) t.undecided(`none of ${AT_ONCE} was created: ${answers[0]?.status}`);
  // A staged deployment is no target yet, so parent_id null stays true for any number of them.
  const targets = accepted.filter((item) => item['target_status'] === 'deployed');
  t.should(targets.length <= 1, {
    expected:
      `one of ${AT_ONCE} deployments to be created: all have parent_id null, and were requested at once ` +
      'for one device',
    actual: `${targets.length} were`,
  });
});

interface Stage {
  /** The platform in the version that introduces this rule. */
  everglades: Platform;
  /** Two releases: at least one of them is not the device's current one. */
  fixtures: [ReleaseFixture, ReleaseFixture];
  /** A device that never had a deployment. */
  device: string;
  /** What the check has made. The first one belongs to another device. */
  created: Set<Item>;
}

/** Blocks the check unless the platform creates a deployment of another device, with parent_id omitted or null. */
function checkOnNewDevice(aspect: string, body: (t: Platform, stage: Stage) => Promise<void>): void {
  check(parent, { needs: ['write', 'everglades'], aspect }, async (t: Platform) => {
    const everglades = inVersion(t, 'everglades');
    const [fixtures, other, device] = await Promise.all([
      createReleaseFixtures(everglades),
      createDevice(everglades),
      createDevice(everglades),
    ]);
    const omitted = await tryDeployment(everglades, fixtures, other.id);
    const { deployment, answers } =
      omitted.deployment === undefined ? await tryDeployment(everglades, fixtures, other.id, null) : omitted;
    const first = deployment ?? t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
    await body(t, { everglades, fixtures, device: device.id, created: new Set([first]) });
  });
}

type ParentId = string | null | undefined;

interface Expectation {
  /** Sent as `parent_id`; omitted when undefined. */
  parent: ParentId;
  why: string;
  /** Another parent_id, tried after a refusal: if it is refused too, the parent is not the reason. */
  control: ParentId;
}
const OMITTED: Expectation = { parent: undefined, why: 'nothing is asserted', control: null };

const named = (parent: ParentId): string => (parent === undefined ? 'parent_id omitted' : `parent_id ${parent}`);

async function mustCreate(stage: Stage, expectation: Expectation): Promise<Item> {
  const { everglades, fixtures, device, created } = stage;
  const { deployment, answers } = await tryDeployment(everglades, fixtures, device, expectation.parent);
  if (deployment !== undefined) {
    created.add(deployment);
    return deployment;
  }
  const { deployment: other } = await tryDeployment(everglades, fixtures, device, expectation.control);
  const control = named(expectation.control);
  if (other === undefined) {
    return everglades.blocked(`set-up: POST /deployments answered ${answers.join('; ')}, and likewise with ${control}`);
  }
  created.add(other);
  return failRefusal(
    everglades,
    `${named(expectation.parent)} to be created: ${expectation.why}`,
    answers,
    control,
    other,
  );
}

/** After a deployment with its parent given, one with parent_id omitted is created too, unless none is. */
async function mustCreateWithoutParent(stage: Stage, current: Item): Promise<void> {
  const { everglades, fixtures, device, created } = stage;
  const { deployment, answers } = await tryDeployment(everglades, fixtures, device);
  if (deployment !== undefined) return void created.add(deployment);
  const { deployment: other } = await tryDeployment(everglades, fixtures, device, current.id);
  if (other === undefined) {
    return everglades.note(`no third deployment of a device is created, with any parent: ${answers.join('; ')}`);
  }
  created.add(other);
  failRefusal(everglades, 'parent_id omitted to be created', answers, named(current.id), other);
}

function failRefusal(t: Platform, what: string, answers: readonly string[], control: string, other: Item): never {
  t.must(false, {
    expected: `a deployment with ${what}`,
    actual: `${answers.join('; ')}; with ${control} ${other.id} was created`,
  });
}

/** The deployments of the device that the list shows and that have not been archived. */
async function activeDeployments({ everglades, device }: Stage): Promise<string[]> {
  const { items } = await walk(everglades, 'deployments', LISTED_AT_MOST);
  return ids(items.filter((item) => item['device_id'] === device && item['target_status'] !== 'archived'));
}

const POLL_MS = 100;

/** Deploys it unless it is deployed already, and waits until the platform shows it as the target of the device. */
async function makeTarget({ everglades }: Stage, deployment: Item): Promise<void> {
  const t: Platform = everglades;
  if (deployment['target_status'] !== 'deployed') {
    const response = await actOn(t, deployment.id, 'deploy');
    if (!ok(response))
      t.blocked(`set-up: POST /deployments/${deployment.id}/deploy answered ${describeResponse(response)}`);
  }
  let target: unknown;
  const found = await pollWithin(
    `${deployment.id} as target`,
    async () => {
      target = (await readItem(t, 'deployments', deployment.id))['target_status'];
      return target === 'deployed' ? true : undefined;
    },
    { timeoutMs: t.patienceMs, firstPauseMs: POLL_MS, signal: t.signal },
  );
  if (found === undefined) {
    t.blocked(`set-up: the target_status of ${deployment.id} stays ${target} after it was deployed`);
  }
}

/**
 * A device has one current target deployment. The spec does not say when the old target is cleared, so poll until the
 * timeout.
 */
async function shouldBeReplaced(t: Platform, old: Item, next: Item): Promise<void> {
  const targetOf = async ({ id }: Item): Promise<unknown> => (await readItem(t, 'deployments', id))['target_status'];
  // Only a SHOULD, and not worth a long wait.
  const timeoutMs = t.patienceMs / 2;
  const cleared = await pollWithin(
    `${old.id} not to be the target any more`,
    async () => ((await targetOf(old)) === 'deployed' ? undefined : true),
    { timeoutMs, firstPauseMs: POLL_MS, signal: t.signal },
  );
  if (cleared) return;
  t.should((await targetOf(next)) !== 'deployed', {
    expected: `${old.id} not to be the target of its device any more, as ${next.id} is`,
    actual: `the target_status of both is deployed after ${timeoutMs} ms`,
  });
}
