import type { DeviceDefect } from './types.ts';

export const firstEventWithoutCursorLost: DeviceDefect = {
  name: 'first-event-without-cursor-lost',
  side: 'device',
  summary: 'Loses the first event of a stream that was opened without a cursor.',
  breaks: ['device.events.no-cursor.live'],
  behaviour: (right) => {
    let cursorless = false;
    return {
      ...right,
      stream: {
        ...right.stream,
        resolveCursor: (cursor, retained) => {
          cursorless = cursor === 'none';
          return right.stream.resolveCursor(cursor, retained);
        },
        session: (subscription) => {
          let lost = !cursorless;
          if (lost) return right.stream.session(subscription);
          return {
            live: (events) => {
              if (lost) return events;
              lost = true;
              return events.slice(1);
            },
          };
        },
      },
    };
  },
};
