import type { PlatformDefect } from './types.ts';

export const pageTooLong: PlatformDefect = {
  name: 'page-too-long',
  side: 'platform',
  summary: 'Gives one item more than limit.',
  breaks: ['platform.list.page-size'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset }, at) => at(offset, limit + 1),
  }),
};
