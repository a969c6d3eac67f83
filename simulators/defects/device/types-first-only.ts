import type { DeviceDefect } from './types.ts';

export const typesFirstOnly: DeviceDefect = {
  name: 'types-first-only',
  side: 'device',
  summary: 'Reads only the first type of the list.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      parseTypes: (values) => right.stream.parseTypes(values.map((value) => value.split(',', 1)[0] ?? '')),
    },
  }),
};
