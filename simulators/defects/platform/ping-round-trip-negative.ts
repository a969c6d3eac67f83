import type { PlatformDefect } from './types.ts';

export const pingRoundTripNegative: PlatformDefect = {
  name: 'ping-round-trip-negative',
  side: 'platform',
  summary: 'Says of a ping that nobody answered that it took less than nothing.',
  breaks: ['platform.ping.timeout'],
  behaviour: (right) => ({
    ...right,
    pingAnswer: (outcome, elapsed) =>
      outcome.code === 'timeout'
        ? { status: 200, body: { code: 'timeout', round_trip_nanos: -1 } }
        : right.pingAnswer(outcome, elapsed),
  }),
};
