import type { DeviceVariant } from './types.ts';

export const fieldsInOtherOrder: DeviceVariant = {
  name: 'fields-in-other-order',
  side: 'device',
  summary: 'Writes data first, then event, then id, and no space behind the colons.',
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, frame: ({ id, type, json }) => `data:${json}\nevent:${type}\nid:${id}\n\n` },
  }),
};
