import type { DeviceVariant } from './types.ts';

const TIMES = 8;

export const commentsBetweenHeartbeats: DeviceVariant = {
  name: 'comments-between-heartbeats',
  side: 'device',
  summary: 'Sends other comments between its heartbeats: clients ignore comment lines.',
  behaviour: (right) => {
    let tick = 1;
    return {
      ...right,
      stream: {
        ...right.stream,
        heartbeatMs: (configured) => {
          tick = configured / TIMES;
          return tick;
        },
        // By the clock, since every stream has a beat of its own.
        heartbeat: (now) =>
          Math.floor(performance.now() / tick) % TIMES === 0 ? right.stream.heartbeat(now) : ':keep-alive\n\n',
      },
    };
  },
};
