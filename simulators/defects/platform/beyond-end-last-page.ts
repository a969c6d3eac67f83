import type { PlatformDefect } from './types.ts';

export const beyondEndLastPage: PlatformDefect = {
  name: 'beyond-end-last-page',
  side: 'platform',
  summary: 'Gives the last page for an offset past the end.',
  breaks: ['platform.list.beyond-end'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset, total }, at) => at(offset < total() ? offset : Math.max(0, total() - limit), limit),
  }),
};
