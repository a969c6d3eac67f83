import type { PlatformDefect } from './types.ts';

export const momentsCleared: PlatformDefect = {
  name: 'moments-cleared',
  side: 'platform',
  summary: 'Forgets when a deployment was queued and deployed as soon as it is archived.',
  breaks: ['platform.deployment.timestamps'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' && resource['activity_status'] === 'archived'
        ? { ...resource, queued_at: null, deployed_at: null }
        : resource,
  }),
};
