import type { PlatformDefect } from './types.ts';

export const totalCountWithAnyExpansion: PlatformDefect = {
  name: 'total-count-with-any-expansion',
  side: 'platform',
  summary: 'Counts whenever anything is expanded.',
  breaks: ['platform.list.total-count'],
  behaviour: (right) => ({
    ...right,
    totalCount: (window) => (window.expanding ? window.total() : right.totalCount(window)),
  }),
};
