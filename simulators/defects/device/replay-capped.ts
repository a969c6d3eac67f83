import type { DeviceDefect } from './types.ts';

export const replayCapped: DeviceDefect = {
  name: 'replay-capped',
  side: 'device',
  summary: 'Replays a thousand events at most, and goes on live.',
  breaks: ['device.events.replay.complete'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: () => {
        let left = 1000;
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
