import type { PlatformDefect } from './types.ts';

export const momentDeployedOfStaged: PlatformDefect = {
  name: 'moment-deployed-of-staged',
  side: 'platform',
  summary: 'Reports of what was staged and then archived that it was deployed when it was archived.',
  breaks: ['platform.deployment.timestamps'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' && resource['activity_status'] === 'archived' && resource['queued_at'] === null
        ? { ...resource, deployed_at: resource['archived_at'] }
        : resource,
  }),
};
