import type { PlatformDefect } from './types.ts';

export const hasMoreOnFullPage: PlatformDefect = {
  name: 'has-more-on-full-page',
  side: 'platform',
  summary: 'Says has_more whenever a page is full, also for the last one.',
  breaks: ['platform.list.has-more'],
  behaviour: (right) => ({
    ...right,
    hasMore: ({ limit, returned }) => returned === limit,
  }),
};
