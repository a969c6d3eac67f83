import type { DeviceDefect } from './types.ts';

export const typesIgnored: DeviceDefect = {
  name: 'types-ignored',
  side: 'device',
  summary: 'Sends all types whatever the filter says.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, wants: () => true } }),
};
