import type { DeviceDefect } from './types.ts';

export const discoveryTokenStale: DeviceDefect = {
  name: 'discovery-token-stale',
  side: 'device',
  summary: 'Writes a token into the discovery file that it does not accept itself.',
  breaks: ['device.loopback.discovery'],
  behaviour: (right) => ({
    ...right,
    transport: { ...right.transport, discovery: ({ port, token }) => ({ port, token: [...token].reverse().join('') }) },
  }),
};
