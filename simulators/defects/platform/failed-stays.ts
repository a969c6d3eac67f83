import type { PlatformDefect } from './types.ts';

export const failedStays: PlatformDefect = {
  name: 'failed-stays',
  side: 'platform',
  summary: 'Leaves failed deployments as they were.',
  breaks: ['platform.deployment.failed'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' && resource['error_status'] === 'failed'
        ? { ...resource, activity_status: 'deployed', target_status: 'deployed' }
        : resource,
  }),
};
