import type { PlatformDefect } from './types.ts';

export const totalCountAbsent: PlatformDefect = {
  name: 'total-count-absent',
  side: 'platform',
  summary: 'Omits total_count although it was asked for.',
  breaks: ['platform.list.total-count'],
  behaviour: (right) => ({
    ...right,
    totalCount: () => undefined,
  }),
};
