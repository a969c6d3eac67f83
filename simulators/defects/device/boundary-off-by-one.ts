import type { DeviceDefect } from './types.ts';

export const boundaryOffByOne: DeviceDefect = {
  name: 'boundary-off-by-one',
  side: 'device',
  summary: 'Answers 410 for the id of the earliest retained event.',
  breaks: ['device.events.expired.boundary'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) => {
        if (typeof cursor === 'number' && cursor <= retained.earliest && retained.earliest > 1) return 'expired';
        return right.stream.resolveCursor(cursor, retained);
      },
    },
  }),
};
