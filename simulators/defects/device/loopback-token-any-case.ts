import type { DeviceDefect } from './types.ts';

export const loopbackTokenAnyCase: DeviceDefect = {
  name: 'loopback-token-any-case',
  side: 'device',
  summary: 'Compares the token without regard to case.',
  breaks: ['device.loopback.bearer-required'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      authorized: (header, token, transport) =>
        right.transport.authorized(header?.toLowerCase(), token?.toLowerCase(), transport),
    },
  }),
};
