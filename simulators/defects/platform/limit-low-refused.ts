import { PlatformError } from '../../platform/ports.ts';
import type { PlatformDefect } from './types.ts';

export const limitLowRefused: PlatformDefect = {
  name: 'limit-low-refused',
  side: 'platform',
  summary: 'Refuses a limit below 1.',
  breaks: ['platform.list.clamp.low'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => {
      if (/^-?\d+$/.test(values[0] ?? '') && Number(values[0]) < 1)
        throw new PlatformError(400, 'invalid_limit', 'limit is below 1');
      return right.clampLimit(values);
    },
  }),
};
