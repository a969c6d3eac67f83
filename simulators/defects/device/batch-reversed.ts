import type { DeviceDefect } from './types.ts';

export const batchReversed: DeviceDefect = {
  name: 'batch-reversed',
  side: 'device',
  summary: 'Delivers the events of one commit newest first.',
  breaks: ['device.events.monotonic'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, session: () => ({ live: (events) => events.toReversed() }) },
  }),
};
