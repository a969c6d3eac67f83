import type { DeviceDefect } from './types.ts';

export const replayInclusive: DeviceDefect = {
  name: 'replay-inclusive',
  side: 'device',
  summary: 'Replays the event of the cursor as well.',
  breaks: ['device.events.replay.exclusive'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) => {
        const after = right.stream.resolveCursor(cursor, retained);
        return typeof cursor === 'number' && typeof after === 'number' ? Math.max(0, after - 1) : after;
      },
    },
  }),
};
