import type { DeviceDefect } from './types.ts';

export const replaySkipsNewest: DeviceDefect = {
  name: 'replay-skips-newest',
  side: 'device',
  summary: 'Replays everything but the newest event.',
  breaks: ['device.events.replay.complete'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: ({ retained }) => ({ replay: (events) => events.filter(({ id }) => id !== retained.latest) }),
    },
  }),
};
