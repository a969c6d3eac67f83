import { defect, resources, variant } from '../define-platform.ts';

export const defects = [
  defect(
    'deployment-description-escaped',
    'Escapes the description of a deployment for a web page.',
    ['platform.deployment.created'],
    resources('deployment', ({ description, ...deployment }) => ({
      ...{ ...deployment, description: String(description).replaceAll('&', '&amp;').replaceAll('<', '&lt;') },
    })),
  ),
  defect('archived-is-deployed', 'Deploys an archived deployment again.', ['platform.deployment.archived-final'], {
    mayTarget: () => true,
  }),
  defect('drifted-is-deployed', 'Deploys a drifted deployment unseen.', ['platform.deployment.drifted'], {
    deploysDrifted: true,
  }),
  defect(
    'replaced-is-staged-again',
    'Puts a deployment that was replaced back to staged.',
    ['platform.deployment.forward-only'],
    { retired: () => 'staged' },
  ),
];

export const variants = [
  variant('created-201', 'Answers 201 when something is created.', { createdStatus: 201 }),
  variant('drift-when-deployed', 'Lets staged deployments drift only once another is on the device.', {
    driftsOn: 'deployed',
  }),
  variant('release-of-a-commit', 'Requires git_commit_ref for a release.', ({ bodyProblems }) => ({
    bodyProblems: (operation, value, check) => {
      const problems = bodyProblems(operation, value, check);
      if (operation !== 'createRelease' || (value as { git_commit_ref?: unknown }).git_commit_ref !== undefined) {
        return problems;
      }
      return [...problems, { path: '/git_commit_ref', message: 'is needed' }];
    },
  })),
];
