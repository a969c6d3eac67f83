import type { PlatformDefect } from './types.ts';

export const pingUnknownDevice: PlatformDefect = {
  name: 'ping-unknown-device',
  side: 'platform',
  summary: 'Calls a ping of a device that does not exist a timeout.',
  breaks: ['platform.ping.unknown-device'],
  behaviour: (right) => ({
    ...right,
    error: (facts) =>
      facts.code === 'device_not_found' ? { status: 200, body: { code: 'timeout' } } : right.error(facts),
  }),
};
