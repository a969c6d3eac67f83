import type { DeviceDefect } from './types.ts';

export const expiredByQueryOnly: DeviceDefect = {
  name: 'expired-by-query-only',
  side: 'device',
  summary: 'Answers an expired cursor with 410 only when it came as after.',
  breaks: ['device.events.expired.410'],
  behaviour: (right) => {
    let byHeader = false;
    return {
      ...right,
      stream: {
        ...right.stream,
        chooseCursor: (request) => {
          byHeader = request.after.length === 0;
          return right.stream.chooseCursor(request);
        },
        resolveCursor: (cursor, retained) => {
          const after = right.stream.resolveCursor(cursor, retained);
          return after === 'expired' && byHeader ? retained.earliest - 1 : after;
        },
      },
    };
  },
};
