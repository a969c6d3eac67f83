import type { DeviceDefect } from './types.ts';

export const retainedRefused: DeviceDefect = {
  name: 'retained-refused',
  side: 'device',
  summary: 'Answers 410 for cursors that could still be served, once there has been a compaction.',
  breaks: ['device.events.expired.boundary'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) => {
        const half = (retained.earliest + retained.latest) / 2;
        if (typeof cursor === 'number' && cursor < half && retained.earliest > 1) return 'expired';
        return right.stream.resolveCursor(cursor, retained);
      },
    },
  }),
};
