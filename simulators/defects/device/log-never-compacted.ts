import type { DeviceDefect } from './types.ts';

export const logNeverCompacted: DeviceDefect = {
  name: 'log-never-compacted',
  side: 'device',
  summary: 'Never compacts its log.',
  breaks: ['device.log.bounded'],
  behaviour: (right) => ({ ...right, log: { ...right.log, keepFrom: () => 0 } }),
};
