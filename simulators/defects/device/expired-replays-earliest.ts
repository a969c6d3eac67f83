import type { DeviceDefect } from './types.ts';

export const expiredReplaysEarliest: DeviceDefect = {
  name: 'expired-replays-earliest',
  side: 'device',
  summary: 'Replays from the earliest retained event when the cursor is older.',
  breaks: ['device.events.expired.410'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) => {
        const after = right.stream.resolveCursor(cursor, retained);
        return after === 'expired' ? retained.earliest - 1 : after;
      },
    },
  }),
};
