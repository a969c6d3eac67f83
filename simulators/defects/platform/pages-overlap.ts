import type { PlatformDefect } from './types.ts';

export const pagesOverlap: PlatformDefect = {
  name: 'pages-overlap',
  side: 'platform',
  summary: 'Begins every page but the first with the last item of the one before.',
  breaks: ['platform.list.walk', 'platform.list.in-range'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset }, at) => at(Math.max(0, offset - 1), limit),
  }),
};
