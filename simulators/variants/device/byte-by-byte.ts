import type { DeviceVariant } from './types.ts';

export const byteByByte: DeviceVariant = {
  name: 'byte-by-byte',
  side: 'device',
  summary: 'Sends each byte as an HTTP chunk of its own.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chunk: (body) => Buffer.concat(Array.from(body, (byte) => right.stream.chunk(Buffer.of(byte)))),
    },
  }),
};
