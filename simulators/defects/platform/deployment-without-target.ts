import type { PlatformDefect } from './types.ts';

export const deploymentWithoutTarget: PlatformDefect = {
  name: 'deployment-without-target',
  side: 'platform',
  summary: 'Omits target_status.',
  breaks: ['platform.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) => {
      if (kind !== 'deployment') return resource;
      const { target_status: _target, ...rest } = resource;
      return rest;
    },
  }),
};
