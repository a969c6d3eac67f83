import type { PlatformDefect } from './types.ts';

/** More would be too much for a timer. */
const A_DAY_NANOS = 86_400_000_000_000;

export const pingUnlimited: PlatformDefect = {
  name: 'ping-unlimited',
  side: 'platform',
  summary: 'Waits as long as it is told, ten seconds or not.',
  breaks: ['platform.ping.limit'],
  behaviour: (right) => ({
    ...right,
    pingTimeout: (asked) => (asked > 0 ? Math.min(asked, A_DAY_NANOS) : 'refuse'),
  }),
};
