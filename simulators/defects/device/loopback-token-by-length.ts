import type { DeviceDefect } from './types.ts';

export const loopbackTokenByLength: DeviceDefect = {
  name: 'loopback-token-by-length',
  side: 'device',
  summary: 'Takes any token of the right length.',
  breaks: ['device.loopback.bearer-required'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      authorized: (header, token, transport) => transport === 'unix' || header?.length === `Bearer ${token}`.length,
    },
  }),
};
