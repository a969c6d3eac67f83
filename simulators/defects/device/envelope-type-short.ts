import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const envelopeTypeShort: DeviceDefect = {
  name: 'envelope-type-short',
  side: 'device',
  summary: 'Writes only the action as type in the envelope.',
  breaks: ['device.events.envelope'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) =>
        right.stream.frame(rewritten(event, (envelope) => ({ ...envelope, type: event.type.split('.')[1] }))),
    },
  }),
};
