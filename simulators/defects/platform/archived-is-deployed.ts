import type { PlatformDefect } from './types.ts';

export const archivedIsDeployed: PlatformDefect = {
  name: 'archived-is-deployed',
  side: 'platform',
  summary: 'Deploys an archived deployment again.',
  breaks: ['platform.deployment.archived-final'],
  behaviour: (right) => ({
    ...right,
    mayTarget: () => true,
  }),
};
