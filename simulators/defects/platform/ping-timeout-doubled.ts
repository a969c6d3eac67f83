import type { PlatformDefect } from './types.ts';

export const pingTimeoutDoubled: PlatformDefect = {
  name: 'ping-timeout-doubled',
  side: 'platform',
  summary: 'Waits twice as long as it was told.',
  breaks: ['platform.ping.timeout'],
  behaviour: (right) => ({
    ...right,
    ping: (link, deviceId, timeoutNanos) => right.ping(link, deviceId, timeoutNanos * 2),
  }),
};
