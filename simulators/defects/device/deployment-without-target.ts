import type { DeviceDefect } from './types.ts';

export const deploymentWithoutTarget: DeviceDefect = {
  name: 'deployment-without-target',
  side: 'device',
  summary: 'Leaves target_status out of the deployment.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, deploymentBody: (deployment) => ({ ...deployment, target_status: undefined }) },
  }),
};
