import type { DeviceDefect } from './types.ts';

export const statusFromActivity: DeviceDefect = {
  name: 'status-from-activity',
  side: 'device',
  summary: 'Computes status from the activity alone.',
  breaks: ['device.deployment.merge'],
  behaviour: (right) => ({ ...right, deployments: { ...right.deployments, mergeStatus: (activity) => activity } }),
};
