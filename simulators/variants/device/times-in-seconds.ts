import type { DeviceVariant } from './types.ts';

export const timesInSeconds: DeviceVariant = {
  name: 'times-in-seconds',
  side: 'device',
  summary: 'Writes times without a fraction of a second.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, created_at: deployment.created_at.replace(/\.\d+/, '') }),
    },
    deployments: { ...right.deployments, occurredAt: (time) => time.replace(/\.\d+/, '') },
  }),
};
