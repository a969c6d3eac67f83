import type { DeviceDefect } from './types.ts';

export const idsReusedAfterRestart: DeviceDefect = {
  name: 'ids-reused-after-restart',
  side: 'device',
  summary: 'Gives the last id of before a restart out again.',
  breaks: ['device.log.restart'],
  behaviour: (right) => ({ ...right, log: { ...right.log, highest: (last) => Math.max(0, last - 1) } }),
};
