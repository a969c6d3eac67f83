import type { DeviceDefect } from './types.ts';

export const discoveryOtherNames: DeviceDefect = {
  name: 'discovery-other-names',
  side: 'device',
  summary: 'Writes Port and Token into the discovery file.',
  breaks: ['device.loopback.discovery'],
  behaviour: (right) => ({
    ...right,
    transport: { ...right.transport, discovery: ({ port, token }) => ({ Port: port, Token: token }) },
  }),
};
