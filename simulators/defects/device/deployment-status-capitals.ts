import type { DeviceDefect } from './types.ts';

export const deploymentStatusCapitals: DeviceDefect = {
  name: 'deployment-status-capitals',
  side: 'device',
  summary: 'Writes statuses in capitals.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, activity_status: deployment.activity_status.toUpperCase() }),
    },
  }),
};
