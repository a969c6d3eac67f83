import type { DeviceDefect } from './types.ts';

export const readTouchesDeployment: DeviceDefect = {
  name: 'read-touches-deployment',
  side: 'device',
  summary: 'Sets created_at anew whenever the deployment is read.',
  breaks: ['device.deployment.safe'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, deploymentBody: (deployment) => ({ ...deployment, created_at: new Date().toISOString() }) },
  }),
};
