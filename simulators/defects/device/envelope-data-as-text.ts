import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const envelopeDataAsText: DeviceDefect = {
  name: 'envelope-data-as-text',
  side: 'device',
  summary: 'Encodes data twice, so that it is a string.',
  breaks: ['device.events.envelope'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) =>
        right.stream.frame(rewritten(event, (envelope) => ({ ...envelope, data: JSON.stringify(envelope['data']) }))),
    },
  }),
};
