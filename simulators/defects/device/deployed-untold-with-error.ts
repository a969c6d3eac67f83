import type { DeviceDefect } from './types.ts';

export const deployedUntoldWithError: DeviceDefect = {
  name: 'deployed-untold-with-error',
  side: 'device',
  summary: 'Says nothing of a deployment that is deployed while an error stands.',
  breaks: ['device.events.payload.deployed'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      announce: (events, { deployment }) => (deployment.error_status === 'none' ? events : []),
    },
  }),
};
