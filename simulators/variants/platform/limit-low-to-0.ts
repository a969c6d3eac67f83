import { clampInteger } from '../../platform/right.ts';
import type { PlatformVariant } from './types.ts';

export const limitLowTo0: PlatformVariant = {
  name: 'limit-low-to-0',
  side: 'platform',
  summary: 'Takes 0 for the nearest valid limit.',
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => clampInteger(values, { low: 0, high: 100, otherwise: 10 }),
  }),
};
