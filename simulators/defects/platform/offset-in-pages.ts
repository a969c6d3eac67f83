import type { PlatformDefect } from './types.ts';

export const offsetInPages: PlatformDefect = {
  name: 'offset-in-pages',
  side: 'platform',
  summary: 'Takes offset for a number of pages.',
  breaks: ['platform.list.walk', 'platform.list.in-range'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset }, at) => at(offset * limit, limit),
  }),
};
