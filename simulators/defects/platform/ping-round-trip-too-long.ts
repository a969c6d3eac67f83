import type { PlatformDefect } from './types.ts';

export const pingRoundTripTooLong: PlatformDefect = {
  name: 'ping-round-trip-too-long',
  side: 'platform',
  summary: 'Gives the round trip in picoseconds.',
  breaks: ['platform.ping.success'],
  behaviour: (right) => ({
    ...right,
    pingAnswer: ({ code, round_trip_nanos }) => ({
      status: 200,
      body: { code, ...(round_trip_nanos !== undefined && { round_trip_nanos: round_trip_nanos * 1000 }) },
    }),
  }),
};
