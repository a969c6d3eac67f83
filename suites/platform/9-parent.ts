/** Section 9, migration rule 3: `parent_id` when a deployment is created. */
import { setTimeout as sleep } from 'node:timers/promises';
import { requirement } from '../../harness/check/define.ts';
import { createDevice, created } from './support/create.ts';
import { act, createKit, type Kit, postDeployment, tidy, tryDeployment } from './support/kit.ts';
import type { Item } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion, ok, said } from './support/send.ts';

const PARENT = requirement(
  'platform.deployment.parent',
  'MUST',
  '9',
  'On creation parent_id may be omitted or a deployment id; null is accepted exactly when the device has no current target deployment.',
);
const options = { needs: ['write', 'everglades'], writes: true, sharing: 'exclusive' } as const;

interface Stage {
  t: Platform;
  kits: Kit[];
  device: string;
  made: Item[];
}

/** A device that never had a deployment, on a platform that has been seen to create one when nothing is asserted. */
async function prepare(run: Platform): Promise<Stage> {
  const t = inVersion(run, 'everglades');
  // Of two releases one is always not the device's current one.
  const kits = [await createKit(t), await createKit(t)];
  const [control, device] = [await createDevice(t), await createDevice(t)];
  const { deployment, answers } = await tryDeployment(t, kits, control.id);
  const first = deployment ?? t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
  return { t, kits, device: device.id, made: [first] };
}

async function accepted(stage: Stage, parent: string | null | undefined, why: string): Promise<Item> {
  const t: Platform = stage.t;
  const { deployment, answers } = await tryDeployment(t, stage.kits, stage.device, parent);
  t.must(deployment !== undefined, {
    expected: `a deployment with ${shown(parent)} to be created: ${why}`,
    actual: answers.join('; '),
  });
  stage.made.push(deployment);
  return deployment;
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

const whenFree = check(PARENT, { ...options, aspect: 'null-accepted' }, async (run: Platform) => {
  const stage = await prepare(run);
  await accepted(stage, null, 'the device has no deployment at all');
  await tidy(stage.t, stage.made);
});

const whenTaken = check(PARENT, { ...options, aspect: 'null-refused' }, async (run: Platform) => {
  const stage = await prepare(run);
  const t: Platform = stage.t;
  await targeted(stage, await accepted(stage, undefined, 'nothing is asserted'));
  const { deployment, answers } = await tryDeployment(t, stage.kits, stage.device, null);
  await tidy(
    t,
    [...stage.made, deployment].filter((item) => item !== undefined),
  );
  t.must(deployment === undefined, {
    expected: 'parent_id null to be refused: the device has a current target deployment',
    actual: answers.at(-1),
  });
  t.should(
    answers.every((answer) => / 4\d\d /.test(answer)),
    { expected: 'a 4xx (409)', actual: answers.join('; ') },
  );
});

const whenGiven = check(PARENT, { ...options, aspect: 'accepted' }, async (run: Platform) => {
  const stage = await prepare(run);
  const first = await accepted(stage, undefined, 'nothing is asserted');
  await targeted(stage, first);
  const second = await accepted(stage, first.id, 'it is the current target deployment of the device');
  const current = second['target_status'] === 'deployed' ? second : first;
  await accepted(stage, undefined, 'nothing is asserted');
  const { answers } = await tryDeployment(stage.t, stage.kits, stage.device, stage.made[0]?.id);
  stage.t.note(`parent_id of a deployment of another device (current is ${current.id}): ${answers.at(-1)}`);
  await tidy(stage.t, stage.made);
});

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
