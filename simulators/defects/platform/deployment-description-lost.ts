import type { PlatformDefect } from './types.ts';

export const deploymentDescriptionLost: PlatformDefect = {
  name: 'deployment-description-lost',
  side: 'platform',
  summary: 'Keeps no description of a deployment.',
  breaks: ['platform.deployment.created'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) => (kind === 'deployment' ? { ...resource, description: '' } : resource),
  }),
};
