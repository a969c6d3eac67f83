import type { PlatformDefect } from './types.ts';

export const pingUnlimited: PlatformDefect = {
  name: 'ping-unlimited',
  side: 'platform',
  summary: 'Waits as long as it is told, ten seconds or not.',
  breaks: ['platform.ping.limit'],
  behaviour: (right) => ({
    ...right,
    pingTimeout: (asked) => (asked > 0 ? asked : 'refuse'),
  }),
};
