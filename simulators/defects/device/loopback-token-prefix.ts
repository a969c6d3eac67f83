import type { DeviceDefect } from './types.ts';

export const loopbackTokenPrefix: DeviceDefect = {
  name: 'loopback-token-prefix',
  side: 'device',
  summary: 'Compares only as much of the token as was sent.',
  breaks: ['device.loopback.bearer-required'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      authorized: (header, token, transport) => transport === 'unix' || `Bearer ${token}`.startsWith(header ?? '-'),
    },
  }),
};
