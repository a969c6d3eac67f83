import type { DeviceDefect } from './types.ts';

export const eventsCached: DeviceDefect = {
  name: 'events-cached',
  side: 'device',
  summary: 'Lets caches keep the stream.',
  breaks: ['device.events.content-type'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, headers: { ...right.stream.headers, 'Cache-Control': 'max-age=3600' } },
  }),
};
