import type { DeviceDefect } from './types.ts';

export const payloadWithoutStatuses: DeviceDefect = {
  name: 'payload-without-statuses',
  side: 'device',
  summary: 'Sends deployment.deployed with status alone.',
  breaks: ['device.events.payload.deployed'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      event: ({ type, data }) => ({ type, data: { ...data, activity_status: undefined, error_status: undefined } }),
    },
  }),
};
