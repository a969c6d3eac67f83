import type { DeviceDefect } from './types.ts';

export const restartLoadsFew: DeviceDefect = {
  name: 'restart-loads-few',
  side: 'device',
  summary: 'Knows only the newest hundred events of those from before its start.',
  breaks: ['device.log.restart'],
  behaviour: (right) => {
    let loaded = 0;
    return {
      ...right,
      log: {
        ...right.log,
        highest: (last, mark, damaged) => {
          loaded = last - 100;
          return right.log.highest(last, mark, damaged);
        },
      },
      stream: {
        ...right.stream,
        session: () => ({ replay: (events) => events.filter(({ id }) => id > loaded) }),
      },
    };
  },
};
