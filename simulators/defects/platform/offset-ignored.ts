import type { PlatformDefect } from './types.ts';

export const offsetIgnored: PlatformDefect = {
  name: 'offset-ignored',
  side: 'platform',
  summary: 'Always gives the first page.',
  breaks: ['platform.list.walk', 'platform.list.in-range'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit }, at) => at(0, limit),
  }),
};
