import type { DeviceDefect } from './types.ts';

export const loopbackAnyScheme: DeviceDefect = {
  name: 'loopback-any-scheme',
  side: 'device',
  summary: 'Takes the token whatever stands before it.',
  breaks: ['device.loopback.bearer-required'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      authorized: (header, token, transport) =>
        transport === 'unix' || (token !== undefined && header?.endsWith(token) === true),
    },
  }),
};
