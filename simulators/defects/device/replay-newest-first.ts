import type { DeviceDefect } from './types.ts';

export const replayNewestFirst: DeviceDefect = {
  name: 'replay-newest-first',
  side: 'device',
  summary: 'Replays newest first.',
  breaks: ['device.events.replay.complete', 'device.events.monotonic'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, session: () => ({ replay: (events) => events.toReversed() }) },
  }),
};
