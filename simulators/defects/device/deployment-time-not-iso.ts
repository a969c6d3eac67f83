import type { DeviceDefect } from './types.ts';

export const deploymentTimeNotIso: DeviceDefect = {
  name: 'deployment-time-not-iso',
  side: 'device',
  summary: 'Shows created_at the way a browser writes a date.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, created_at: new Date(deployment.created_at).toUTCString() }),
    },
  }),
};
