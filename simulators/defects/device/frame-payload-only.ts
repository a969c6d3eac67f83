import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const framePayloadOnly: DeviceDefect = {
  name: 'frame-payload-only',
  side: 'device',
  summary: 'Sends the payload where the envelope belongs.',
  breaks: ['device.events.envelope'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame(rewritten(event, (envelope) => envelope['data'] as typeof envelope)),
    },
  }),
};
