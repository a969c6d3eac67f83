import type { DeviceDefect } from './types.ts';

export const loopbackOnEveryAddress: DeviceDefect = {
  name: 'loopback-on-every-address',
  side: 'device',
  summary: 'Binds its loopback port to every address of the machine.',
  breaks: ['device.loopback.only'],
  behaviour: (right) => ({ ...right, transport: { ...right.transport, host: '0.0.0.0' } }),
};
