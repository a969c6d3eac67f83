import { clampInteger } from '../../platform/right.ts';
import type { PlatformDefect } from './types.ts';

export const limitLowNegative: PlatformDefect = {
  name: 'limit-low-negative',
  side: 'platform',
  summary: 'Echoes a negative limit.',
  breaks: ['platform.list.clamp.low'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => clampInteger(values, { low: -1, high: 100, otherwise: 10 }),
  }),
};
