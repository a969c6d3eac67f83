import { PlatformError } from '../../platform/ports.ts';
import type { PlatformDefect } from './types.ts';

export const limitHighRefused: PlatformDefect = {
  name: 'limit-high-refused',
  side: 'platform',
  summary: 'Refuses a limit above 100.',
  breaks: ['platform.list.clamp.high', 'platform.list.clamp.huge'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => {
      if (/^\d+$/.test(values[0] ?? '') && Number(values[0]) > 100)
        throw new PlatformError(400, 'invalid_limit', 'limit is above 100');
      return right.clampLimit(values);
    },
  }),
};
