import type { DeviceDefect } from './types.ts';

export const typesIgnoredInReplay: DeviceDefect = {
  name: 'types-ignored-in-replay',
  side: 'device',
  summary: 'Filters live events, and replays all.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      wants: (filter, type, phase) => phase === 'replay' || right.stream.wants(filter, type, phase),
    },
  }),
};
