import type { DeviceVariant } from './types.ts';

export const heartbeatWhenIdle: DeviceVariant = {
  name: 'heartbeat-when-idle',
  side: 'device',
  summary: 'Sends a heartbeat only when nothing else was sent for the interval.',
  behaviour: (right) => {
    let interval = 0;
    return {
      ...right,
      stream: {
        ...right.stream,
        heartbeatMs: (configured) => {
          interval = configured;
          return configured / 8;
        },
        heartbeat: (now) => (now.idleMs >= interval * 0.85 ? right.stream.heartbeat(now) : ''),
        heartbeatAtOpen: false,
      },
    };
  },
};
