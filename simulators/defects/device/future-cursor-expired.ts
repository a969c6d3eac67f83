import type { DeviceDefect } from './types.ts';

export const futureCursorExpired: DeviceDefect = {
  name: 'future-cursor-expired',
  side: 'device',
  summary: 'Answers 410 to a cursor beyond the newest event.',
  breaks: ['device.events.expired.only'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) =>
        typeof cursor === 'number' && cursor > retained.latest
          ? 'expired'
          : right.stream.resolveCursor(cursor, retained),
    },
  }),
};
