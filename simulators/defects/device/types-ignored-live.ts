import type { DeviceDefect } from './types.ts';

export const typesIgnoredLive: DeviceDefect = {
  name: 'types-ignored-live',
  side: 'device',
  summary: 'Filters the replay, and sends all live events.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      wants: (filter, type, phase) => phase === 'live' || right.stream.wants(filter, type, phase),
    },
  }),
};
