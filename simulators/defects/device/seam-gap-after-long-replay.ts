import type { DeviceDefect } from './types.ts';

export const seamGapAfterLongReplay: DeviceDefect = {
  name: 'seam-gap-after-long-replay',
  side: 'device',
  summary: 'Loses the first live events after a replay of more than a hundred.',
  breaks: ['device.events.replay.seam'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: () => {
        let replayed = 0;
        return {
          replay: (events) => {
            replayed += events.length;
            return events;
          },
          live: (events) => {
            const lost = replayed > 100;
            replayed = 0;
            return lost ? [] : events;
          },
        };
      },
    },
  }),
};
