import type { DeviceDefect } from './types.ts';

export const eventsTwice: DeviceDefect = {
  name: 'events-twice',
  side: 'device',
  summary: 'Delivers every live event twice.',
  breaks: ['device.events.monotonic'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, session: () => ({ live: (events) => events.flatMap((event) => [event, event]) }) },
  }),
};
