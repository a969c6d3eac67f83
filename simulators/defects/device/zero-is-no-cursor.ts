import type { DeviceDefect } from './types.ts';

export const zeroIsNoCursor: DeviceDefect = {
  name: 'zero-is-no-cursor',
  side: 'device',
  summary: 'Takes after=0 for no cursor, and sends live events only.',
  breaks: ['device.events.replay.complete'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: (request) => {
        const cursor = right.stream.chooseCursor(request);
        return cursor === 0 ? 'none' : cursor;
      },
    },
  }),
};
