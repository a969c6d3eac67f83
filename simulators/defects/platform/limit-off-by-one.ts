import type { PlatformDefect } from './types.ts';

export const limitOffByOne: PlatformDefect = {
  name: 'limit-off-by-one',
  side: 'platform',
  summary: 'Takes a limit in range for one less.',
  breaks: ['platform.list.in-range'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) =>
      Math.max(1, right.clampLimit(values) - (values.length > 0 && right.clampLimit(values) < 100 ? 1 : 0)),
  }),
};
