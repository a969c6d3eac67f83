import type { DeviceDefect } from './types.ts';

export const futureCursorReplaysAll: DeviceDefect = {
  name: 'future-cursor-replays-all',
  side: 'device',
  summary: 'Takes a cursor beyond the newest event for none that it knows, and replays everything.',
  breaks: ['device.events.replay.exclusive'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) =>
        typeof cursor === 'number' && cursor > retained.latest
          ? retained.earliest - 1
          : right.stream.resolveCursor(cursor, retained),
    },
  }),
};
