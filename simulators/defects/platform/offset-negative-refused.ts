import { PlatformError } from '../../platform/ports.ts';
import type { PlatformDefect } from './types.ts';

export const offsetNegativeRefused: PlatformDefect = {
  name: 'offset-negative-refused',
  side: 'platform',
  summary: 'Refuses a negative offset.',
  breaks: ['platform.list.clamp.offset', 'platform.list.clamp.huge'],
  behaviour: (right) => ({
    ...right,
    clampOffset: (values) => {
      if (/^-\d*[1-9]/.test(values[0] ?? '')) throw new PlatformError(400, 'invalid_offset', 'offset is negative');
      return right.clampOffset(values);
    },
  }),
};
