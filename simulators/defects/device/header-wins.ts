import type { DeviceDefect } from './types.ts';

export const headerWins: DeviceDefect = {
  name: 'header-wins',
  side: 'device',
  summary: 'Lets Last-Event-ID win over after.',
  breaks: ['device.events.after-wins'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: ({ after, lastEventId }) =>
        right.stream.chooseCursor({ after: lastEventId === undefined ? after : [], lastEventId }),
    },
  }),
};
