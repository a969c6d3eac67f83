import { clampInteger } from '../../platform/right.ts';
import type { PlatformDefect } from './types.ts';

export const limitUnbounded: PlatformDefect = {
  name: 'limit-unbounded',
  side: 'platform',
  summary: 'Obeys any limit.',
  breaks: ['platform.list.clamp.high'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => clampInteger(values, { low: 1, high: 1_000_000, otherwise: 10 }),
  }),
};
