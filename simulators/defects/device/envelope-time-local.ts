import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const envelopeTimeLocal: DeviceDefect = {
  name: 'envelope-time-local',
  side: 'device',
  summary: 'Writes occurred_at as a local date and time.',
  breaks: ['device.events.envelope'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) =>
        right.stream.frame(
          rewritten(event, (envelope) => ({
            ...envelope,
            occurred_at: String(envelope['occurred_at']).replace('T', ' ').slice(0, 19),
          })),
        ),
    },
  }),
};
