import { answers, defect, resources } from '../define-platform.ts';

export const defects = [
  defect(
    'merge-wrong-singly',
    'Leaves the error out of the status of a deployment that is read alone.',
    ['platform.deployment.merge'],
    answers('getDeployment', (deployment) => ({ ...deployment, status: deployment['activity_status'] })),
  ),
  defect('status-ignores-retrying', 'Shows failed in status, but not retrying.', ['platform.deployment.merge'], {
    mergeStatus: (activity, error) => (error === 'failed' ? 'failed' : activity),
  }),
  defect(
    'status-error-always',
    'Shows the error status even when there is none.',
    ['platform.deployment.merge', 'platform.deployment.shape'],
    resources('deployment', (deployment) => ({ ...deployment, status: deployment['error_status'] })),
  ),
  defect(
    'deployment-id-bare',
    'Gives the id of a release without its prefix.',
    ['platform.deployment.shape'],
    resources('deployment', (deployment) => ({
      ...deployment,
      release_id: String(deployment['release_id']).replace('rls_', ''),
    })),
  ),
  defect(
    'created-when-read',
    'Shows the time of the reading as the creation of a deployment that is read alone.',
    ['platform.deployment.same'],
    answers('getDeployment', (deployment) => ({ ...deployment, created_at: new Date().toISOString() })),
  ),
  defect('removing-in-tetons', 'Shows removing to clients of tetons.', ['platform.deployment.removing'], {
    downStep: (kind) => kind !== 'deployment',
  }),
  defect('deployed-in-tetons', 'Shows staged as deployed to clients of tetons.', ['platform.deployment.alike'], {
    resource: (kind, resource, version) =>
      kind === 'deployment' && version === '2026-03-09.tetons' && resource['activity_status'] === 'staged'
        ? { ...resource, activity_status: 'deployed', status: 'deployed' }
        : resource,
  }),
  defect(
    'failed-stays',
    'Leaves failed deployments as they were.',
    ['platform.deployment.failed'],
    resources('deployment', (deployment) =>
      deployment['error_status'] === 'failed'
        ? { ...deployment, activity_status: 'deployed', target_status: 'deployed' }
        : deployment,
    ),
  ),
];
