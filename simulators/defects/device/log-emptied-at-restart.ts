import type { DeviceDefect } from './types.ts';

export const logEmptiedAtRestart: DeviceDefect = {
  name: 'log-emptied-at-restart',
  side: 'device',
  summary: 'Begins with an empty log at each start.',
  breaks: ['device.log.restart'],
  behaviour: (right) => ({ ...right, log: { ...right.log, opening: () => 'empty' } }),
};
