import type { PlatformDefect } from './types.ts';

export const limitClampedInEchoOnly: PlatformDefect = {
  name: 'limit-clamped-in-echo-only',
  side: 'platform',
  summary: 'Echoes a limit of 100 and gives more.',
  breaks: ['platform.list.clamp.high', 'platform.list.page-size'],
  behaviour: (right) => ({
    ...right,
    page: ({ limit, offset }, at) => at(offset, limit === 100 ? 150 : limit),
  }),
};
