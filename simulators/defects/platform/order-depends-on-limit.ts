import type { PlatformDefect } from './types.ts';

export const orderDependsOnLimit: PlatformDefect = {
  name: 'order-depends-on-limit',
  side: 'platform',
  summary: 'Orders items of one moment differently for every limit.',
  breaks: ['platform.list.walk'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset, total }, at) => {
      const rotation = Math.min(limit, 7) % Math.max(1, total());
      const all = at(0, total());
      return [...all.slice(rotation), ...all.slice(0, rotation)].slice(offset, offset + limit);
    },
  }),
};
