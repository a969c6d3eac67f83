import type { PlatformDefect } from './types.ts';

export const pingTimeoutIsSuccess: PlatformDefect = {
  name: 'ping-timeout-is-success',
  side: 'platform',
  summary: 'Calls a ping that nobody answered a success.',
  breaks: ['platform.ping.timeout'],
  behaviour: (right) => ({
    ...right,
    pingAnswer: (_outcome, elapsed) => ({ status: 200, body: { code: 'success', round_trip_nanos: elapsed } }),
  }),
};
