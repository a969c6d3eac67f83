import type { DeviceDefect } from './types.ts';

export const malformedIsNone: DeviceDefect = {
  name: 'malformed-is-none',
  side: 'device',
  summary: 'Takes a malformed cursor for none.',
  breaks: ['device.events.cursor.malformed'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: (request) => {
        const cursor = right.stream.chooseCursor(request);
        return cursor === 'malformed' ? 'none' : cursor;
      },
    },
  }),
};
