/** Sections 2.1, 2.2 and 3: whether a new deployment is the one that was asked for, and only ever moves forward. */
import { byExploring } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import {
  actOn,
  createArchivedDeployment,
  createDeployment,
  createDevice,
  createReleaseFixtures,
} from './support/create.ts';
import { readItem } from './support/lists.ts';
import { refused } from './support/requests.ts';

export const { requirement, check, checks } = section({ since: '2026-11-21' });

const options = { needs: ['write'] } as const;

const forwardOnly = requirement({
  id: 'platform.deployment.forward-only',
  level: 'SHOULD',
  section: '3',
  text:
    'The target and the activity of a deployment never move backwards, ' +
    'whatever happens to it or to other deployments of its device.',
});
check(...byExploring(forwardOnly, { ...options, makes: 'deployment' }));

const asAsked = requirement({
  id: 'platform.deployment.created',
  level: 'MUST',
  section: '2.1',
  clause: 'Description of the deployment. … Device identifier (prefix `dvc_`). … Release identifier (prefix `rls_`).',
  text: 'A new deployment has the device, the release and the description that were asked for.',
});
check(...byExploring(asAsked, { ...options, makes: 'deployment' }));

const archivedFinal = requirement({
  id: 'platform.deployment.archived-final',
  level: 'MUST',
  section: '2.2',
  clause: 'Kept for history; cannot be deployed and is not active on the device.',
  text: 'An archived deployment cannot be deployed.',
});
check(archivedFinal, options, async (t: Platform) => {
  const fixtures = await createReleaseFixtures(t);
  const deployment = await createArchivedDeployment(t, fixtures);
  const before = await readItem(t, 'deployments', deployment.id);
  if (before['activity_status'] !== 'archived') {
    t.undecided(`a new deployment could not be archived: it is ${before['activity_status']}`);
  }
  t.must(before['target_status'] !== 'deployed', {
    expected: `a target other than deployed in ${deployment.id}, which is archived and so cannot be deployed`,
    actual: 'target_status deployed with activity_status archived, before anything asks for it to be deployed',
    counterexample: deployment.id,
  });
  const response = await actOn(t, deployment.id, 'deploy');
  const after = await readItem(t, 'deployments', deployment.id);
  t.must(after['activity_status'] === 'archived' && after['target_status'] !== 'deployed', {
    expected: `${deployment.id} to stay archived when it is asked to deploy`,
    actual: `${response.status}, and it is ${after['activity_status']} with target ${after['target_status']}`,
  });
  t.should(refused(response), {
    expected: 'a 4xx to deploy of an archived deployment',
    actual: response.status,
  });
});

const drifted = requirement({
  id: 'platform.deployment.drifted',
  level: 'SHOULD',
  section: '2.2',
  since: '2026-11-25',
  clause: "The device's configurations changed since the deployment was staged; it must be reviewed before …",
  text: 'A deployment that has drifted, and that nobody has reviewed, is not deployed.',
});
check(drifted, options, async (t: Platform) => {
  const fixtures = await createReleaseFixtures(t);
  const device = (await createDevice(t)).id;
  const staged = await createDeployment(t, fixtures.slice(0, 1), { device, targets: ['staged'] });
  await createDeployment(t, fixtures.slice(1), { device, targets: ['deployed'] });
  const before = await readItem(t, 'deployments', staged.id);
  if (before['activity_status'] !== 'drifted') {
    return t.notApplicable(`a staged deployment whose device got another one is ${before['activity_status']}`);
  }
  // How a deployment is reviewed is not shown. Nothing has been asked about this one but how it is.
  const answer = await actOn(t, staged.id, 'deploy');
  const after = await readItem(t, 'deployments', staged.id);
  t.must(!['queued', 'deployed'].includes(String(after['activity_status'])), {
    expected: `${staged.id}, which has drifted, not to be deployed before it is reviewed`,
    actual: `${answer.status}, and it is ${after['activity_status']} with target ${after['target_status']}`,
    counterexample: staged.id,
  });
});
