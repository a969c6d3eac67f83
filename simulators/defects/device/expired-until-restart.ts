import type { DeviceDefect } from './types.ts';

export const expiredUntilRestart: DeviceDefect = {
  name: 'expired-until-restart',
  side: 'device',
  summary: 'Forgets at a restart that events were compacted away, and serves cursors that had been refused.',
  breaks: ['device.events.expired.410'],
  behaviour: (right) => {
    let starts = 0;
    return {
      ...right,
      log: {
        ...right.log,
        opening: (torn) => {
          starts += 1;
          return right.log.opening(torn);
        },
      },
      stream: {
        ...right.stream,
        resolveCursor: (cursor, retained) => {
          const after = right.stream.resolveCursor(cursor, retained);
          return after === 'expired' && starts > 1 ? retained.earliest - 1 : after;
        },
      },
    };
  },
};
