import type { PlatformDefect } from './types.ts';

export const totalCountOfTheRest: PlatformDefect = {
  name: 'total-count-of-the-rest',
  side: 'platform',
  summary: 'Counts from the offset on.',
  breaks: ['platform.list.total-count'],
  behaviour: (right) => ({
    ...right,
    totalCount: ({ asked, offset, total }) => (asked ? Math.max(0, total() - offset) : undefined),
  }),
};
