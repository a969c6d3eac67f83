import type { PlatformDefect } from './types.ts';

export const limitHighToDefault: PlatformDefect = {
  name: 'limit-high-to-default',
  side: 'platform',
  summary: 'Takes the default in place of a limit above 100.',
  breaks: ['platform.list.clamp.high'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => (Number(values[0]) > 100 ? 10 : right.clampLimit(values)),
  }),
};
