import type { PlatformVariant } from './types.ts';

export const parentIdInformational: PlatformVariant = {
  name: 'parent-id-informational',
  side: 'platform',
  summary: 'Takes any deployment of the device as parent_id.',
  behaviour: (right) => ({
    ...right,
    parentHolds: (given, current, version) => typeof given === 'string' || right.parentHolds(given, current, version),
  }),
};
