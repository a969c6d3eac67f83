import type { PlatformDefect } from './types.ts';

export const hasMoreForgetsOffset: PlatformDefect = {
  name: 'has-more-forgets-offset',
  side: 'platform',
  summary: 'Compares limit with the number of all items, whatever the offset.',
  breaks: ['platform.list.has-more', 'platform.list.beyond-end'],
  behaviour: (right) => ({
    ...right,
    hasMore: ({ limit, total }) => limit < total(),
  }),
};
