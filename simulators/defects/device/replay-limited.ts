import type { DeviceDefect } from './types.ts';

export const replayLimited: DeviceDefect = {
  name: 'replay-limited',
  side: 'device',
  summary: 'Replays ten events at most.',
  breaks: ['device.events.replay.complete'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: () => {
        let left = 10;
        return {
          replay: (events) => {
            const some = events.slice(0, left);
            left -= some.length;
            return some;
          },
        };
      },
    },
  }),
};
