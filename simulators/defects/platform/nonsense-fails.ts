import type { PlatformDefect } from './types.ts';

export const nonsenseFails: PlatformDefect = {
  name: 'nonsense-fails',
  side: 'platform',
  summary: 'Fails on a limit that is no integer.',
  breaks: ['platform.list.clamp.nonsense'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => {
      if (values.length > 0 && !/^-?\d+$/.test(values[0] ?? '')) throw new TypeError('limit is no integer');
      return right.clampLimit(values);
    },
  }),
};
