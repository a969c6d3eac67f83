import type { PlatformDefect } from './types.ts';

export const momentDeployedEarly: PlatformDefect = {
  name: 'moment-deployed-early',
  side: 'platform',
  summary: 'Gives the moment of queueing as that of deployment.',
  breaks: ['platform.deployment.timestamps'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' ? { ...resource, deployed_at: resource['deployed_at'] ?? resource['queued_at'] } : resource,
  }),
};
