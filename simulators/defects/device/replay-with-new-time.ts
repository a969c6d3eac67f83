import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const replayWithNewTime: DeviceDefect = {
  name: 'replay-with-new-time',
  side: 'device',
  summary: 'Gives replayed events the time of the replay.',
  breaks: ['device.events.replay.complete'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: () => {
        const now = new Date().toISOString();
        return {
          replay: (events) =>
            events.map((event) => rewritten(event, (envelope) => ({ ...envelope, occurred_at: now }))),
        };
      },
    },
  }),
};
