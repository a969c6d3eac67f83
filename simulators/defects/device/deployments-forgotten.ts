import type { DeviceDefect } from './types.ts';

export const deploymentsForgotten: DeviceDefect = {
  name: 'deployments-forgotten',
  side: 'device',
  summary: 'Forgets its deployments at a restart.',
  breaks: ['device.deployment.restart'],
  behaviour: (right) => ({ ...right, deployments: { ...right.deployments, remembers: false } }),
};
