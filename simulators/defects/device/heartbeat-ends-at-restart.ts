import type { DeviceDefect } from './types.ts';

export const heartbeatEndsAtRestart: DeviceDefect = {
  name: 'heartbeat-ends-at-restart',
  side: 'device',
  summary: 'Sends no heartbeats once it has been restarted.',
  breaks: ['device.events.heartbeat'],
  behaviour: (right) => {
    let starts = 0;
    return {
      ...right,
      log: {
        ...right.log,
        highest: (last, mark, damaged) => {
          starts += 1;
          return right.log.highest(last, mark, damaged);
        },
      },
      stream: { ...right.stream, heartbeat: (now) => (starts > 1 ? '' : right.stream.heartbeat(now)) },
    };
  },
};
