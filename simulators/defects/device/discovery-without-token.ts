import type { DeviceDefect } from './types.ts';

export const discoveryWithoutToken: DeviceDefect = {
  name: 'discovery-without-token',
  side: 'device',
  summary: 'Leaves the token out of the discovery file.',
  breaks: ['device.loopback.discovery'],
  behaviour: (right) => ({
    ...right,
    transport: { ...right.transport, discovery: ({ port }) => ({ port }) },
  }),
};
