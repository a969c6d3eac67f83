import type { DeviceDefect } from './types.ts';

export const typesByPrefix: DeviceDefect = {
  name: 'types-by-prefix',
  side: 'device',
  summary: 'Lets an event through when its type and a listed one begin alike.',
  breaks: ['device.events.types'],
  behaviour: (right) => {
    let listed: string[] = [];
    return {
      ...right,
      stream: {
        ...right.stream,
        parseTypes: (values) => {
          listed = values.flatMap((value) => value.split(','));
          return right.stream.parseTypes(values);
        },
        wants: (filter, type, phase) =>
          right.stream.wants(filter, type, phase) ||
          listed.some((other) => type.startsWith(other) || other.startsWith(type)),
      },
    };
  },
};
