import type { DeviceVariant } from './types.ts';

export const byteOrderMark: DeviceVariant = {
  name: 'byte-order-mark',
  side: 'device',
  summary: 'Begins the stream with a byte order mark, as event streams may.',
  behaviour: (right) => ({ ...right, stream: { ...right.stream, preamble: '\uFEFF' } }),
};
