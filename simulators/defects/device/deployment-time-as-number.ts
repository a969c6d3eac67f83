import type { DeviceDefect } from './types.ts';

export const deploymentTimeAsNumber: DeviceDefect = {
  name: 'deployment-time-as-number',
  side: 'device',
  summary: 'Shows created_at as milliseconds since 1970.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, created_at: Date.parse(deployment.created_at) }),
    },
  }),
};
