import type { StoredEvent } from '../../device/log/line.ts';
import type { DeviceDefect } from './types.ts';

export const cursorMovesBack: DeviceDefect = {
  name: 'cursor-moves-back',
  side: 'device',
  summary: 'Repeats an older event behind a newer one, which moves the cursor of a client back.',
  breaks: ['device.events.monotonic'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: () => {
        let before: StoredEvent | undefined;
        return {
          live: (events) => {
            const repeated = before ? [...events, before] : events;
            before = events.at(-1);
            return repeated;
          },
        };
      },
    },
  }),
};
