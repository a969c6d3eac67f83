import type { DeviceDefect } from './types.ts';

export const failedStays: DeviceDefect = {
  name: 'failed-stays',
  side: 'device',
  summary: 'Leaves a failed deployment where it is: neither archived nor removed.',
  breaks: ['device.deployment.failed'],
  behaviour: (right) => ({ ...right, deployments: { ...right.deployments, failedArchives: false } }),
};
