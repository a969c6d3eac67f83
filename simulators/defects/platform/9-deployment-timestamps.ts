import type { Resource } from '../../platform/behaviour.ts';
import { defect, resources, variant } from '../define-platform.ts';

const TIMESTAMPS = ['platform.deployment.timestamps'];
const shows = (name: string, summary: string, change: (deployment: Resource) => Resource) =>
  defect(name, summary, TIMESTAMPS, resources('deployment', change));

const YEAR_MS = 365 * 86_400_000;

export const defects = [
  shows('moments-out-of-order', 'Shows archived deployments as queued after they were archived.', (deployment) =>
    deployment['archived_at'] !== null && deployment['queued_at'] !== null
      ? { ...deployment, queued_at: deployment['archived_at'], archived_at: deployment['queued_at'] }
      : deployment,
  ),
  shows('moment-queued-moves', 'Shows a deployment as queued when it was last changed.', (deployment) => {
    const { queued_at, deployed_at, archived_at } = deployment;
    return { ...deployment, queued_at: queued_at && (archived_at ?? deployed_at ?? queued_at) };
  }),
  shows('moment-deployed-early', 'Gives the moment of queueing as that of deployment.', (deployment) => ({
    ...deployment,
    deployed_at: deployment['deployed_at'] ?? deployment['queued_at'],
  })),
  shows(
    'moment-deployed-of-staged',
    'Shows a deployment that was archived while staged as deployed at that moment.',
    (deployment) =>
      deployment['activity_status'] === 'archived' && deployment['queued_at'] === null
        ? { ...deployment, deployed_at: deployment['archived_at'] }
        : deployment,
  ),
  shows(
    'moments-cleared',
    'Forgets when a deployment was queued and deployed as soon as it is archived.',
    (deployment) =>
      deployment['activity_status'] === 'archived' ? { ...deployment, queued_at: null, deployed_at: null } : deployment,
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
