import type { DeviceDefect } from './types.ts';

export const compactionDropsNewest: DeviceDefect = {
  name: 'compaction-drops-newest',
  side: 'device',
  summary: 'Drops the newest events when it compacts.',
  breaks: ['device.log.compaction'],
  behaviour: (right) => ({ ...right, log: { ...right.log, keepFrom: ({ latest }) => latest + 1 } }),
};
