import type { DeviceDefect } from './types.ts';

export const subscribersTakeTurns: DeviceDefect = {
  name: 'subscribers-take-turns',
  side: 'device',
  summary: 'Gives each event to one subscriber, in turn.',
  breaks: ['device.events.concurrent'],
  behaviour: (right) => {
    let turn = 0;
    return {
      ...right,
      stream: {
        ...right.stream,
        recipients: (live) => {
          const at = turn++ % Math.max(1, live.size);
          return [...live].slice(at, at + 1);
        },
      },
    };
  },
};
