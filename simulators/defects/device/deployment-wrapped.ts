import type { DeviceDefect } from './types.ts';

export const deploymentWrapped: DeviceDefect = {
  name: 'deployment-wrapped',
  side: 'device',
  summary: 'Wraps the deployment in an envelope of its own.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({ ...right, http: { ...right.http, deploymentBody: (deployment) => ({ deployment }) } }),
};
