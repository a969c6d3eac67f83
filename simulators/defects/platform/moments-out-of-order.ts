import type { PlatformDefect } from './types.ts';

export const momentsOutOfOrder: PlatformDefect = {
  name: 'moments-out-of-order',
  side: 'platform',
  summary: 'Shows archived deployments as queued after they were archived.',
  breaks: ['platform.deployment.timestamps'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' && resource['archived_at'] !== null && resource['queued_at'] !== null
        ? { ...resource, queued_at: resource['archived_at'], archived_at: resource['queued_at'] }
        : resource,
  }),
};
