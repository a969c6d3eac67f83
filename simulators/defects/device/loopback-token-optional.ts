import type { DeviceDefect } from './types.ts';

export const loopbackTokenOptional: DeviceDefect = {
  name: 'loopback-token-optional',
  side: 'device',
  summary: 'Checks the token only when one is sent.',
  breaks: ['device.loopback.bearer-required'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      authorized: (header, token, transport) =>
        header === undefined || right.transport.authorized(header, token, transport),
    },
  }),
};
