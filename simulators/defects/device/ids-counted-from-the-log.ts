import type { DeviceDefect } from './types.ts';

export const idsCountedFromTheLog: DeviceDefect = {
  name: 'ids-counted-from-the-log',
  side: 'device',
  summary: 'Counts ids on from the last event in the log, which a compaction may have left empty.',
  breaks: ['device.log.restart'],
  behaviour: (right) => ({
    ...right,
    log: { ...right.log, highest: (last) => last, keepFrom: ({ latest }) => latest + 1 },
  }),
};
