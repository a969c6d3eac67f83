import type { DeviceDefect } from './types.ts';

export const typesByResource: DeviceDefect = {
  name: 'types-by-resource',
  side: 'device',
  summary: 'Compares only the resource of a type.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      wants: (filter, type) => {
        const resource = (name: string): string | undefined => name.split('.')[0];
        return filter === undefined || [...filter].some((wanted) => resource(wanted) === resource(type));
      },
    },
  }),
};
