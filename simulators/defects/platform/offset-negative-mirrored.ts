import { clampInteger } from '../../platform/right.ts';
import type { PlatformDefect } from './types.ts';

export const offsetNegativeMirrored: PlatformDefect = {
  name: 'offset-negative-mirrored',
  side: 'platform',
  summary: 'Takes a negative offset for a positive one.',
  breaks: ['platform.list.clamp.offset'],
  behaviour: (right) => ({
    ...right,
    clampOffset: (values) =>
      Math.abs(clampInteger(values, { low: -1000, high: Number.MAX_SAFE_INTEGER, otherwise: 0 })),
  }),
};
