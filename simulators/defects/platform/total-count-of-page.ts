import type { PlatformDefect } from './types.ts';

export const totalCountOfPage: PlatformDefect = {
  name: 'total-count-of-page',
  side: 'platform',
  summary: 'Counts the items of the page.',
  breaks: ['platform.list.total-count'],
  behaviour: (right) => ({
    ...right,
    totalCount: ({ asked, returned }) => (asked ? returned : undefined),
  }),
};
