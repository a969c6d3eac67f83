import type { DeviceDefect } from './types.ts';

export const statusArchivedFirst: DeviceDefect = {
  name: 'status-archived-first',
  side: 'device',
  summary: 'Shows archived even when the deployment failed.',
  breaks: ['device.deployment.merge'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      mergeStatus: (activity, error) =>
        activity === 'archived' ? activity : right.deployments.mergeStatus(activity, error),
    },
  }),
};
