import type { PlatformDefect } from './types.ts';

export const pingRoundTripMissing: PlatformDefect = {
  name: 'ping-round-trip-missing',
  side: 'platform',
  summary: 'Omits the round trip.',
  breaks: ['platform.ping.success'],
  behaviour: (right) => ({
    ...right,
    pingAnswer: ({ code }) => ({ status: 200, body: { code } }),
  }),
};
