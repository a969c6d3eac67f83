import type { DeviceDefect } from './types.ts';

export const largerCursorWins: DeviceDefect = {
  name: 'larger-cursor-wins',
  side: 'device',
  summary: 'Takes the larger of after and Last-Event-ID.',
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
        return cursors.includes('malformed') ? 'malformed' : numbers.length === 0 ? 'none' : Math.max(...numbers);
      },
    },
  }),
};
