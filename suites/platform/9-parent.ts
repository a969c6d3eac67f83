/** Section 9, migration rule 3: `parent_id` when a deployment is created. */
import { setTimeout as sleep } from 'node:timers/promises';
import { requirement } from '../../harness/runner/define.ts';
import { createDevice, created } from './support/create.ts';
import { PAGES } from './support/deployments.ts';
import { act, createKit, type Kit, postDeployment, tidy, tryDeployment } from './support/kit.ts';
import { type Item, ids } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion, ok, said } from './support/send.ts';
import { walk } from './support/walk.ts';

const PARENT = requirement({
  id: 'platform.deployment.parent',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'On creation parent_id may be omitted or a deployment id; null is accepted exactly when the device has no current target deployment.',
});
const options = { needs: ['write', 'everglades'], writes: true, sharing: 'exclusive' } as const;

interface Stage {
  t: Platform;
  kits: Kit[];
  device: string;
  made: Item[];
}

/** A device that never had a deployment, on a platform that has been seen to create one, whatever is said of the parent. */
async function prepare(run: Platform): Promise<Stage> {
  const t = inVersion(run, 'everglades');
  // Of two releases one is always not the device's current one.
  const kits = [await createKit(t), await createKit(t)];
  const [control, device] = [await createDevice(t), await createDevice(t)];
  const omitted = await tryDeployment(t, kits, control.id);
  const { deployment, answers } =
    omitted.deployment === undefined ? await tryDeployment(t, kits, control.id, null) : omitted;
  const first = deployment ?? t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
  return { t, kits, device: device.id, made: [first] };
}

interface Claim {
  parent: string | null | undefined;
  why: string;
  /** What else may be said of the parent: a platform that takes no deployment then either is not asked at the right time. */
  control: string | null | undefined;
}

async function accepted(stage: Stage, claim: Claim): Promise<Item> {
  const { t, kits, device, made }: Stage = stage;
  const { parent, why, control } = claim;
  const { deployment, answers } = await tryDeployment(t, kits, device, parent);
  if (deployment !== undefined) {
    made.push(deployment);
    return deployment;
  }
  const other = await tryDeployment(t, kits, device, control);
  await tidy(t, [...made, other.deployment]);
  return refusedIt(t, `a deployment with ${shown(parent)} to be created: ${why}`, answers, other.deployment, control);
}

function refusedIt(
  t: Platform,
  expected: string,
  answers: readonly string[],
  instead: Item | undefined,
  control: Claim['control'],
): never {
  if (instead === undefined)
    t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}, and so it does with ${shown(control)}`);
  t.must(false, { expected, actual: `${answers.join('; ')}; with ${shown(control)} ${instead.id} was created` });
}

/** Makes it the device's target, as far as it is not, and waits until the platform says so. */
async function targeted({ t, made }: Stage, deployment: Item): Promise<void> {
  if (deployment['target_status'] !== 'deployed') {
    const response = await act(t, deployment.id, 'deploy');
    if (!ok(response)) t.blocked(`set-up: POST /deployments/${deployment.id}/deploy answered ${said(response)}`);
  }
  const deadline = performance.now() + t.patienceMs;
  for (;;) {
    const { target_status: target } = await read(t, 'deployments', deployment.id);
    if (target === 'deployed') return;
    if (performance.now() > deadline) {
      await tidy(t, made);
      t.blocked(`set-up: the target_status of ${deployment.id} stays ${target} after it was deployed`);
    }
    await sleep(100, undefined, { signal: t.signal });
  }
}

const shown = (parent: string | null | undefined): string =>
  parent === undefined ? 'parent_id omitted' : `parent_id ${parent}`;

const NOTHING_ASSERTED = { parent: undefined, why: 'nothing is asserted', control: null } as const;

const whenFree = check(PARENT, { ...options, aspect: 'null-accepted' }, async (run: Platform) => {
  const stage = await prepare(run);
  await accepted(stage, { parent: null, why: 'the device has no deployment at all', control: undefined });
  await tidy(stage.t, stage.made);
});

/** The deployments of the device that are not archived, as far as the list shows them. */
async function active({ t, device }: Stage): Promise<string[]> {
  const { items } = await walk(t, 'deployments', { limit: 100, pages: PAGES });
  return ids(items.filter((item) => item['device_id'] === device && item['target_status'] !== 'archived'));
}

const whenTaken = check(PARENT, { ...options, aspect: 'null-refused' }, async (run: Platform) => {
  const stage = await prepare(run);
  const t: Platform = stage.t;
  await targeted(stage, await accepted(stage, NOTHING_ASSERTED));
  const before = new Set([...ids(stage.made), ...(await active(stage))]);
  const { deployment, answers } = await tryDeployment(t, stage.kits, stage.device, null);
  const unasked = (await active(stage)).filter((id) => !before.has(id) && id !== deployment?.id);
  await tidy(t, [...stage.made, deployment]);
  t.must(deployment === undefined, {
    expected: 'parent_id null to be refused: the device has a current target deployment',
    actual: answers.at(-1),
  });
  t.must(unasked.length === 0, {
    expected: 'no deployment to come of parent_id null, which was refused',
    actual: `${unasked.join(', ')} of ${stage.device}, after ${answers.join('; ')}`,
  });
  t.should(
    answers.every((answer) => / 4\d\d /.test(answer)),
    { expected: 'a 4xx (409)', actual: answers.join('; ') },
  );
});

const whenGiven = check(PARENT, { ...options, aspect: 'accepted' }, async (run: Platform) => {
  const stage = await prepare(run);
  const t: Platform = stage.t;
  const first = await accepted(stage, NOTHING_ASSERTED);
  await targeted(stage, first);
  const why = 'it is the current target deployment of the device';
  const second = await accepted(stage, { parent: first.id, why, control: undefined });
  const replaced = second['target_status'] === 'deployed';
  const current = replaced ? second : first;
  if (replaced) await untargeted(t, first, second);
  const third = await tryDeployment(t, stage.kits, stage.device);
  if (third.deployment !== undefined) stage.made.push(third.deployment);
  else {
    const other = await tryDeployment(t, stage.kits, stage.device, current.id);
    if (other.deployment !== undefined) {
      await tidy(t, [...stage.made, other.deployment]);
      refusedIt(t, 'a deployment with parent_id omitted to be created', third.answers, other.deployment, current.id);
    }
    t.note(`no third deployment of a device is created, whatever its parent: ${third.answers.join('; ')}`);
  }
  const { answers } = await tryDeployment(t, stage.kits, stage.device, stage.made[0]?.id);
  t.note(`parent_id of a deployment of another device (current is ${current.id}): ${answers.at(-1)}`);
  await tidy(t, stage.made);
});

/** A device has one current target deployment. When the one before it ceases to be it is not shown, so that it gets time. */
async function untargeted(t: Platform, old: Item, next: Item): Promise<void> {
  const deadline = performance.now() + t.patienceMs;
  for (;;) {
    const { target_status: target } = await read(t, 'deployments', old.id);
    if (target !== 'deployed') return;
    if (performance.now() > deadline) break;
    await sleep(100, undefined, { signal: t.signal });
  }
  const { target_status: now } = await read(t, 'deployments', next.id);
  t.should(now !== 'deployed', {
    expected: `${old.id} not to be the target of its device any more, as ${next.id} is`,
    actual: `the target_status of both is deployed after ${t.patienceMs} ms`,
  });
}

const AT_ONCE = 6;

const race = check(PARENT, { ...options, aspect: 'at-once' }, async (run: Platform) => {
  const stage = await prepare(run);
  const t: Platform = stage.t;
  const [kit] = stage.kits;
  if (kit === undefined) return;
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, () =>
      postDeployment(t, kit, { device: stage.device, target: 'deployed', parent: null }),
    ),
  );
  const accepted = answers.map(created).filter((item) => item !== undefined);
  await tidy(t, [...stage.made, ...accepted]);
  // Staged ones are no targets yet: any number of them leaves the assertion true.
  const targets = accepted.filter((item) => item['target_status'] === 'deployed');
  t.should(targets.length <= 1, {
    expected: `one of ${AT_ONCE} deployments with parent_id null, made at once for a device without one, to be created`,
    actual: `${targets.length} were`,
  });
});

export const parentChecks = [whenFree, whenTaken, whenGiven, race];
