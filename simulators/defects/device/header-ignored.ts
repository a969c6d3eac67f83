import type { DeviceDefect } from './types.ts';

export const headerIgnored: DeviceDefect = {
  name: 'header-ignored',
  side: 'device',
  summary: 'Ignores Last-Event-ID.',
  breaks: ['device.events.header-cursor', 'device.events.client'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: ({ after }) => right.stream.chooseCursor({ after, lastEventId: undefined }),
    },
  }),
};
