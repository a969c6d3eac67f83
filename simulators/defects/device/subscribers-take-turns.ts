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
        fanOut: (live, send) => {
          const subscribers = [...live];
          const next = subscribers[turn++ % Math.max(1, subscribers.length)];
          if (next) send(next);
        },
      },
    };
  },
};
