import { defect } from '../define-platform.ts';

export const defects = [
  defect(
    'target-not-replaced',
    'Keeps the old target deployment beside the new one.',
    ['system.offline.newest', 'system.soak'],
    { replaces: false },
    { tells: /to be archived on the platform.*activity queued, error none, target deployed/ },
  ),
  defect(
    'queued-is-deployed',
    'Shows a deployment as deployed before its device has fetched it.',
    ['system.offline'],
    ({ mergeStatus }) => ({
      resource: (kind, resource) =>
        kind === 'deployment' && resource['activity_status'] === 'queued'
          ? { ...resource, activity_status: 'deployed', status: mergeStatus('deployed', 'none') }
          : resource,
    }),
    { tells: /to be queued on the platform.*activity deployed/ },
  ),
];
