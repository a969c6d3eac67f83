import { defect, resources, variant } from '../define-platform.ts';

const YEAR_MS = 365 * 86_400_000;

export const defects = [
  defect(
    'moments-out-of-order',
    'Shows archived deployments as queued after they were archived.',
    ['platform.deployment.timestamps'],
    resources('deployment', (deployment) =>
      deployment['archived_at'] !== null && deployment['queued_at'] !== null
        ? { ...deployment, queued_at: deployment['archived_at'], archived_at: deployment['queued_at'] }
        : deployment,
    ),
  ),
  defect(
    'moment-archived-missing',
    'Does not show when a deployment was archived.',
    ['platform.deployment.timestamps'],
    resources('deployment', (deployment) => ({ ...deployment, archived_at: null })),
  ),
  defect(
    'moment-queued-missing',
    'Does not record when a deployment was queued.',
    ['platform.deployment.timestamps'],
    ({ stamp }) => ({
      stamp: (moment, facts) => (moment === 'queued' ? null : stamp(moment, facts)),
    }),
  ),
  defect(
    'moment-deployed-early',
    'Gives the moment of queueing as that of deployment.',
    ['platform.deployment.timestamps'],
    resources('deployment', (deployment) => ({
      ...deployment,
      deployed_at: deployment['deployed_at'] ?? deployment['queued_at'],
    })),
  ),
  defect(
    'moment-deployed-of-staged',
    'Shows a deployment that was archived while staged as deployed at that moment.',
    ['platform.deployment.timestamps'],
    resources('deployment', (deployment) =>
      deployment['activity_status'] === 'archived' && deployment['queued_at'] === null
        ? { ...deployment, deployed_at: deployment['archived_at'] }
        : deployment,
    ),
  ),
  defect(
    'moments-cleared',
    'Forgets when a deployment was queued and deployed as soon as it is archived.',
    ['platform.deployment.timestamps'],
    resources('deployment', (deployment) =>
      deployment['activity_status'] === 'archived' ? { ...deployment, queued_at: null, deployed_at: null } : deployment,
    ),
  ),
];

export const variants = [
  variant(
    'moments-to-come',
    'Shows when a deployment will be archived.',
    resources('deployment', (deployment) => ({
      auto_archived_after: new Date(Date.parse(String(deployment['created_at'])) + YEAR_MS).toISOString(),
      ...deployment,
    })),
  ),
  variant(
    'deployed-between-reads',
    'Delivers at once, so that a queued deployment has been deployed by the time it is replaced.',
    resources('deployment', (deployment) =>
      deployment['activity_status'] === 'archived' && typeof deployment['queued_at'] === 'string'
        ? { ...deployment, deployed_at: deployment['deployed_at'] ?? deployment['queued_at'] }
        : deployment,
    ),
  ),
];
