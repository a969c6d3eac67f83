import type { DeviceDefect } from './types.ts';

export const discoveryPortAsText: DeviceDefect = {
  name: 'discovery-port-as-text',
  side: 'device',
  summary: 'Writes the port into the discovery file as a string.',
  breaks: ['device.loopback.discovery'],
  behaviour: (right) => ({
    ...right,
    transport: { ...right.transport, discovery: (file) => ({ ...file, port: String(file.port) }) },
  }),
};
