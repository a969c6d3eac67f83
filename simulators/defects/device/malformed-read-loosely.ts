import type { DeviceDefect } from './types.ts';

export const malformedReadLoosely: DeviceDefect = {
  name: 'malformed-read-loosely',
  side: 'device',
  summary: 'Reads as much of a cursor as looks like a number.',
  breaks: ['device.events.cursor.malformed'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: ({ after, lastEventId }) => {
        const text = after[0] ?? lastEventId;
        if (text === undefined) return 'none';
        const cursor = Number.parseInt(text, 10);
        return Number.isNaN(cursor) ? 'malformed' : Math.min(cursor, Number.MAX_SAFE_INTEGER);
      },
    },
  }),
};
