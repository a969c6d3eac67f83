import type { DeviceDefect } from './types.ts';

export const typeUnderscore: DeviceDefect = {
  name: 'type-underscore',
  side: 'device',
  summary: 'Writes event types with an underscore.',
  breaks: ['device.events.type-form'],
  behaviour: (right) => ({
    ...right,
    deployments: { ...right.deployments, event: ({ type, data }) => ({ type: type.replace('.', '_'), data }) },
  }),
};
