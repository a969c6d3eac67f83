import type { DeviceDefect } from './types.ts';

export const smallerCursorWins: DeviceDefect = {
  name: 'smaller-cursor-wins',
  side: 'device',
  summary: 'Takes the smaller of after and Last-Event-ID, to be on the safe side.',
  breaks: ['device.events.after-wins'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: ({ after, lastEventId }) => {
        const cursors = [
          right.stream.chooseCursor({ after, lastEventId: undefined }),
          right.stream.chooseCursor({ after: [], lastEventId }),
        ];
        const numbers = cursors.filter((cursor) => typeof cursor === 'number');
        return cursors.includes('malformed') ? 'malformed' : numbers.length === 0 ? 'none' : Math.min(...numbers);
      },
    },
  }),
};
