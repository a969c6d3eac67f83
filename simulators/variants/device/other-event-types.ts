import type { DeviceVariant } from './types.ts';

export const otherEventTypes: DeviceVariant = {
  name: 'other-event-types',
  side: 'device',
  summary: 'Sends events of types beyond those that section 6.3 names.',
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      announce: (events) => [...events, { type: 'device.synced', data: { is_synced: true } }],
    },
  }),
};
