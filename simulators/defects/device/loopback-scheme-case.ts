import type { DeviceDefect } from './types.ts';

export const loopbackSchemeCase: DeviceDefect = {
  name: 'loopback-scheme-case',
  side: 'device',
  summary: 'Compares the word Bearer by case.',
  breaks: ['device.loopback.scheme-case'],
  behaviour: (right) => ({
    ...right,
    transport: {
      ...right.transport,
      authorized: (header, token, transport) => transport === 'unix' || header === `Bearer ${token}`,
    },
  }),
};
