import type { DeviceDefect } from './types.ts';

export const statusForgetsRetrying: DeviceDefect = {
  name: 'status-forgets-retrying',
  side: 'device',
  summary: 'Lets only failed win over the activity, and forgets retrying.',
  breaks: ['device.deployment.merge'],
  behaviour: (right) => ({
    ...right,
    deployments: { ...right.deployments, mergeStatus: (activity, error) => (error === 'failed' ? error : activity) },
  }),
};
