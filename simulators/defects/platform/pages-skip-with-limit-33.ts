import type { PlatformDefect } from './types.ts';

export const pagesSkipWithLimit33: PlatformDefect = {
  name: 'pages-skip-with-limit-33',
  side: 'platform',
  summary: 'Skips an item between two pages of 33.',
  breaks: ['platform.list.walk'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset }, at) => at(limit === 33 && offset > 0 ? offset + 1 : offset, limit),
  }),
};
