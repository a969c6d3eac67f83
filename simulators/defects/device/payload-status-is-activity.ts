import type { DeviceDefect } from './types.ts';

export const payloadStatusIsActivity: DeviceDefect = {
  name: 'payload-status-is-activity',
  side: 'device',
  summary: 'Tells in the payload of the activity alone, errors or not.',
  breaks: ['device.events.payload.deployed'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      event: ({ type, data }) => ({ type, data: { ...data, status: Reflect.get(data, 'activity_status') } }),
    },
  }),
};
