import type { PlatformDefect } from './types.ts';

export const hasMoreNever: PlatformDefect = {
  name: 'has-more-never',
  side: 'platform',
  summary: 'Never says has_more.',
  breaks: ['platform.list.has-more'],
  behaviour: (right) => ({
    ...right,
    hasMore: () => false,
  }),
};
