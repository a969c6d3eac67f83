import type { DeviceVariant } from './types.ts';

export const idsWithGaps: DeviceVariant = {
  name: 'ids-with-gaps',
  side: 'device',
  summary: 'Leaves gaps between ids: they increase, and more is not stated.',
  behaviour: (right) => ({ ...right, log: { ...right.log, idStep: 7 } }),
};
