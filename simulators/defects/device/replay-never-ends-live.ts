import type { DeviceDefect } from './types.ts';

export const replayNeverEndsLive: DeviceDefect = {
  name: 'replay-never-ends-live',
  side: 'device',
  summary: 'Replays, and never sends a live event on that connection.',
  breaks: ['device.events.replay.live'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: ({ after, retained }) => (after < retained.latest ? { live: () => [] } : undefined),
    },
  }),
};
