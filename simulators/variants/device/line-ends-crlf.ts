import type { DeviceVariant } from './types.ts';

export const lineEndsCrlf: DeviceVariant = {
  name: 'line-ends-crlf',
  side: 'device',
  summary: 'Ends lines with CR LF, as event streams may.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame(event).replaceAll('\n', '\r\n'),
      heartbeat: (now) => right.stream.heartbeat(now).replaceAll('\n', '\r\n'),
    },
  }),
};
