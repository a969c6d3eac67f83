import type { DeviceDefect } from './types.ts';

export const deployedToldTwice: DeviceDefect = {
  name: 'deployed-told-twice',
  side: 'device',
  summary: 'Publishes every deployment.deployed twice, as two events.',
  breaks: ['device.events.deployed-only'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      announce: (events) =>
        events.flatMap((event) => (event.type === 'deployment.deployed' ? [event, event] : [event])),
    },
  }),
};
