import type { DeviceDefect } from './types.ts';

export const payloadWithoutTime: DeviceDefect = {
  name: 'payload-without-time',
  side: 'device',
  summary: 'Leaves deployed_at out of deployment.deployed.',
  breaks: ['device.events.payload.deployed'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      event: ({ type, data }) => ({ type, data: { ...data, deployed_at: undefined } }),
    },
  }),
};
