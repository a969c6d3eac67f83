import type { DeviceVariant } from './types.ts';

export const lineEndsCr: DeviceVariant = {
  name: 'line-ends-cr',
  side: 'device',
  summary: 'Ends lines with CR alone, as event streams may.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame(event).replaceAll('\n', '\r'),
      heartbeat: (now) => right.stream.heartbeat(now).replaceAll('\n', '\r'),
    },
  }),
};
