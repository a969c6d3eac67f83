import type { PlatformDefect } from './types.ts';

export const pageTooShort: PlatformDefect = {
  name: 'page-too-short',
  side: 'platform',
  summary: 'Gives one item less than limit although there are more.',
  breaks: ['platform.list.page-size', 'platform.list.walk'],
  behaviour: (right) => ({
    ...right,
    page: (window, at) => {
      const rows = right.page(window, at);
      return rows.length === window.limit && rows.length > 1 ? rows.slice(0, -1) : rows;
    },
  }),
};
