import type { PlatformDefect } from './types.ts';

export const offsetHugeFails: PlatformDefect = {
  name: 'offset-huge-fails',
  side: 'platform',
  summary: 'Fails on an offset that needs more than 64 bits.',
  breaks: ['platform.list.clamp.huge'],
  behaviour: (right) => ({
    ...right,
    clampOffset: (values) => {
      if (/^-?\d{20,}$/.test(values[0] ?? '')) throw new RangeError('offset does not fit');
      return right.clampOffset(values);
    },
  }),
};
