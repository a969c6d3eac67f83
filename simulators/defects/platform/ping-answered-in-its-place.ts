import type { PlatformDefect } from './types.ts';

export const pingAnsweredInItsPlace: PlatformDefect = {
  name: 'ping-answered-in-its-place',
  side: 'platform',
  summary: 'Answers pings in the place of the device, whether it is there or not.',
  breaks: ['system.ping'],
  behaviour: (right) => ({
    ...right,
    ping: async () => ({ code: 'success', round_trip_nanos: 1_000_000 }),
  }),
};
