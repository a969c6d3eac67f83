import type { PlatformDefect } from './types.ts';

export const totalCountUnasked: PlatformDefect = {
  name: 'total-count-unasked',
  side: 'platform',
  summary: 'Gives total_count to everybody.',
  breaks: ['platform.list.total-count'],
  behaviour: (right) => ({
    ...right,
    totalCount: ({ total }) => total(),
  }),
};
