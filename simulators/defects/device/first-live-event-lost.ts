import type { DeviceDefect } from './types.ts';

export const firstLiveEventLost: DeviceDefect = {
  name: 'first-live-event-lost',
  side: 'device',
  summary: 'Loses the first event after a replay.',
  breaks: ['device.events.replay.seam', 'device.events.replay.live'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: ({ after, retained }) => {
        let lost = after >= retained.latest;
        return {
          live: (events) => {
            if (lost) return events;
            lost = true;
            return events.slice(1);
          },
        };
      },
    },
  }),
};
