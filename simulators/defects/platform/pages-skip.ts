import type { PlatformDefect } from './types.ts';

export const pagesSkip: PlatformDefect = {
  name: 'pages-skip',
  side: 'platform',
  summary: 'Leaves out an item between two pages.',
  breaks: ['platform.list.walk', 'platform.list.in-range'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset }, at) => at(offset === 0 ? 0 : offset + 1, limit),
  }),
};
