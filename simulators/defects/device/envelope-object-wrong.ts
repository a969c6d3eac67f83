import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const envelopeObjectWrong: DeviceDefect = {
  name: 'envelope-object-wrong',
  side: 'device',
  summary: 'Names the envelope an event_envelope.',
  breaks: ['device.events.envelope'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame(rewritten(event, (envelope) => ({ ...envelope, object: 'event_envelope' }))),
    },
  }),
};
