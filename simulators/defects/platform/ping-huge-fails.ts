import type { PlatformDefect } from './types.ts';

export const pingHugeFails: PlatformDefect = {
  name: 'ping-huge-fails',
  side: 'platform',
  summary: 'Fails on a timeout that is no safe integer.',
  breaks: ['platform.ping.limit'],
  behaviour: (right) => ({
    ...right,
    pingTimeout: (asked) => {
      if (!Number.isSafeInteger(asked)) throw new RangeError('the timeout is not exact');
      return right.pingTimeout(asked);
    },
  }),
};
