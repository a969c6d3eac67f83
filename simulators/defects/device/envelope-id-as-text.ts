import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const envelopeIdAsText: DeviceDefect = {
  name: 'envelope-id-as-text',
  side: 'device',
  summary: 'Writes the id in the envelope as a string.',
  breaks: ['device.events.envelope'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) =>
        right.stream.frame(rewritten(event, (envelope) => ({ ...envelope, id: String(envelope['id']) }))),
    },
  }),
};
