import type { PlatformDefect } from './types.ts';

export const deploymentDescriptionNull: PlatformDefect = {
  name: 'deployment-description-null',
  side: 'platform',
  summary: 'Gives null for an empty description.',
  breaks: ['platform.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) => (kind === 'deployment' ? { ...resource, description: null } : resource),
  }),
};
