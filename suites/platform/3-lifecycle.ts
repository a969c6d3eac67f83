/** Sections 2.1, 2.2 and 3: a new deployment is as requested and only moves forward. */
import { byExploring } from './oracle/checks.ts';
import { section } from './support/check.ts';

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
check(...byExploring(archivedFinal, { ...options, makes: 'deployment', part: 'ends' }));

const drifted = requirement({
  id: 'platform.deployment.drifted',
  level: 'SHOULD',
  section: '2.2',
  since: '2026-11-25',
  clause: "The device's configurations changed since the deployment was staged; it must be reviewed before …",
  text: 'A deployment that has drifted, and that nobody has reviewed, is not deployed.',
});
check(
  ...byExploring(drifted, {
    ...{ ...options, makes: 'deployment', part: 'ends' },
    isFree: 'no staged deployment drifted when its device got another one',
  }),
);
