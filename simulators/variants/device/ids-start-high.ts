import type { DeviceVariant } from './types.ts';

export const idsStartHigh: DeviceVariant = {
  name: 'ids-start-high',
  side: 'device',
  summary: 'Begins to count ids at a million.',
  behaviour: (right) => ({
    ...right,
    log: {
      ...right.log,
      highest: (last, mark, damaged) => Math.max(right.log.highest(last, mark, damaged), 1_000_000),
    },
  }),
};
