import type { DeviceDefect } from './types.ts';

export const deploymentObjectMissing: DeviceDefect = {
  name: 'deployment-object-missing',
  side: 'device',
  summary: 'Leaves object out of the deployment.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, deploymentBody: (deployment) => ({ ...deployment, object: undefined }) },
  }),
};
