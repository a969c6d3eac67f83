import type { PlatformVariant } from './types.ts';

export const deployedBetweenReads: PlatformVariant = {
  name: 'deployed-between-reads',
  side: 'platform',
  summary:
    'Delivers to a device as soon as it may, so that what was queued has been deployed by the time that it is replaced.',
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' && resource['activity_status'] === 'archived' && typeof resource['queued_at'] === 'string'
        ? { ...resource, deployed_at: resource['deployed_at'] ?? resource['queued_at'] }
        : resource,
  }),
};
