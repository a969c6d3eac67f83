import type { DeviceDefect } from './types.ts';

export const expiredIsLive: DeviceDefect = {
  name: 'expired-is-live',
  side: 'device',
  summary: 'Sends live events only when the cursor is expired.',
  breaks: ['device.events.expired.410'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) => {
        const after = right.stream.resolveCursor(cursor, retained);
        return after === 'expired' ? retained.latest : after;
      },
    },
  }),
};
