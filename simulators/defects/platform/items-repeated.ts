import type { PlatformDefect } from './types.ts';

export const itemsRepeated: PlatformDefect = {
  name: 'items-repeated',
  side: 'platform',
  summary: 'Gives the first item of a page twice.',
  breaks: ['platform.list.items'],
  behaviour: (right) => ({
    ...right,
    page: (window, at) => {
      const rows = right.page(window, at);
      return rows.length < 2 ? rows : [...rows.slice(0, -1), rows[0] as number];
    },
  }),
};
