import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const envelopeIdDiffers: DeviceDefect = {
  name: 'envelope-id-differs',
  side: 'device',
  summary: 'Counts ids in the envelope from 0 and in the frame from 1.',
  breaks: ['device.events.envelope'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame(rewritten(event, (envelope) => ({ ...envelope, id: event.id - 1 }))),
    },
  }),
};
