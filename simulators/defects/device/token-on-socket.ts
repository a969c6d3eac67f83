import type { DeviceDefect } from './types.ts';

export const tokenOnSocket: DeviceDefect = {
  name: 'token-on-socket',
  side: 'device',
  summary: 'Wants a token on the unix socket as well.',
  breaks: ['device.socket.no-token'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      authorized: (header, token, transport) =>
        header !== undefined && right.transport.authorized(header, token, transport),
    },
  }),
};
