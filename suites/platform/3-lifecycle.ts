/** Section 3: how deployments move, and when. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { type DeploymentModel, type DeploymentReality, deploymentCommands } from './models/deployments/index.ts';
import { createDevice } from './support/create.ts';
import { archived, deployed } from './support/deployments.ts';
import { act, createKit, tidy, tryDeployment } from './support/kit.ts';
import type { Item } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';

const FORWARD = requirement({
  id: 'platform.deployment.forward-only',
  level: 'SHOULD',
  section: '3',
  since: '2026-11-21',
  text: 'The target and the activity of a deployment never move backwards, whatever is done with it and its neighbours.',
});
const forwardOnly = check(FORWARD, { needs: ['write'], writes: true, sharing: 'exclusive' }, async (t: Platform) => {
  const kits = [await createKit(t), await createKit(t)];
  const made = new Set<Item>();
  await deployed(t, kits, made);
  await t.property(
    deploymentCommands(t.replayPath),
    async (commands) => {
      const device = (await createDevice(t)).id;
      const model: DeploymentModel = { known: [] };
      const real: DeploymentReality = { t, device, kits, targets: ['staged', 'deployed'] };
      try {
        await fc.asyncModelRun(() => ({ model, real }), commands);
      } finally {
        for (const item of model.known) made.add(item);
      }
    },
    { runs: 8 },
  );
  await tidy(t, [...made]);
});

const CREATED = requirement({
  id: 'platform.deployment.created',
  level: 'MUST',
  section: '2.1',
  since: '2026-11-21',
  text: 'A deployment that is created is of the device and the release that were asked for, and keeps its description.',
});
const asAsked = check(CREATED, { needs: ['write'], writes: true, sharing: 'exclusive' }, async (t: Platform) => {
  const kit = await createKit(t);
  const device = (await createDevice(t)).id;
  const { deployment, answers } = await tryDeployment(t, [kit], device);
  if (deployment === undefined) t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
  const later = await read(t, 'deployments', deployment.id);
  await tidy(t, [deployment]);
  for (const [where, shown] of [
    ['the answer to POST /deployments', deployment],
    ['the deployment read', later],
  ] as const) {
    for (const [field, asked] of Object.entries({ device_id: device, release_id: kit.release.id })) {
      // Which fields a platform shows of it is for another requirement.
      t.must(shown[field] === undefined || shown[field] === asked, {
        expected: `${field} ${asked} in ${where}, as it was asked for`,
        actual: JSON.stringify(shown),
        counterexample: shown.id,
      });
    }
    t.should(shown['description'] === undefined || String(shown['description'] ?? '') !== '', {
      expected: `the description that was given in ${where}`,
      actual: shown['description'],
    });
  }
});

const ARCHIVED = requirement({
  id: 'platform.deployment.archived-final',
  level: 'MUST',
  section: '2.2',
  since: '2026-11-21',
  text: 'An archived deployment cannot be deployed.',
});
const archivedFinal = check(ARCHIVED, { needs: ['write'], writes: true, sharing: 'exclusive' }, async (t: Platform) => {
  const made = new Set<Item>();
  const kits = [await createKit(t), await createKit(t)];
  const deployment = await archived(t, kits, made);
  const before = await read(t, 'deployments', deployment.id);
  if (before['activity_status'] !== 'archived') {
    t.notApplicable(`a deployment that was just created could not be archived: it is ${before['activity_status']}`);
  }
  t.must(before['target_status'] !== 'deployed', {
    expected: `a target other than deployed in ${deployment.id}, which is archived and so cannot be deployed`,
    actual: `target_status deployed with activity_status archived, before it is told to deploy`,
    counterexample: deployment.id,
  });
  const response = await act(t, deployment.id, 'deploy');
  const after = await read(t, 'deployments', deployment.id);
  await tidy(t, [...made]);
  t.must(after['activity_status'] === 'archived' && after['target_status'] !== 'deployed', {
    expected: `${deployment.id} to stay archived when it is told to deploy`,
    actual: `${response.status}, and it is ${after['activity_status']} with target ${after['target_status']}`,
  });
  t.should(response.status >= 400 && response.status < 500, {
    expected: 'a 4xx to deploy of an archived deployment',
    actual: response.status,
  });
});

export const lifecycleChecks = [forwardOnly, asAsked, archivedFinal];
