import type { DeviceDefect } from './types.ts';

export const deploymentIdsBare: DeviceDefect = {
  name: 'deployment-ids-bare',
  side: 'device',
  summary: 'Shows ids of releases without their prefix.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, release_id: deployment.release_id.replace(/^rls_/, '') }),
    },
  }),
};
