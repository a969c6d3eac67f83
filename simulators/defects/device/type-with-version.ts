import type { DeviceDefect } from './types.ts';

export const typeWithVersion: DeviceDefect = {
  name: 'type-with-version',
  side: 'device',
  summary: 'Puts a version behind the event type.',
  breaks: ['device.events.type-form'],
  behaviour: (right) => ({
    ...right,
    deployments: { ...right.deployments, event: ({ type, data }) => ({ type: `${type}.v1`, data }) },
  }),
};
