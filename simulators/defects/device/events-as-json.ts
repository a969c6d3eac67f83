import type { DeviceDefect } from './types.ts';

export const eventsAsJson: DeviceDefect = {
  name: 'events-as-json',
  side: 'device',
  summary: 'Sends the stream as application/json.',
  breaks: ['device.events.content-type'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, headers: { ...right.stream.headers, 'Content-Type': 'application/json' } },
  }),
};
