import type { PlatformDefect } from './types.ts';

export const pingNotSent: PlatformDefect = {
  name: 'ping-not-sent',
  side: 'platform',
  summary: 'Answers every ping at once, without asking the device.',
  breaks: ['system.ping'],
  behaviour: (right) => ({
    ...right,
    pingAnswer: () => ({ status: 200, body: { code: 'timeout' } }),
  }),
};
