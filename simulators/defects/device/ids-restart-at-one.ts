import type { DeviceDefect } from './types.ts';

export const idsRestartAtOne: DeviceDefect = {
  name: 'ids-restart-at-one',
  side: 'device',
  summary: 'Counts ids from 1 again after a restart.',
  breaks: ['device.log.restart'],
  behaviour: (right) => ({ ...right, log: { ...right.log, highest: () => 0 } }),
};
