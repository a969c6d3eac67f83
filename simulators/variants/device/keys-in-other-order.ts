import type { DeviceVariant } from './types.ts';

export const keysInOtherOrder: DeviceVariant = {
  name: 'keys-in-other-order',
  side: 'device',
  summary: 'Writes the members of the envelope in another order.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => {
        const { data, occurred_at, type, id, object } = JSON.parse(event.json) as Record<string, unknown>;
        return right.stream.frame({ ...event, json: JSON.stringify({ data, occurred_at, type, id, object }) });
      },
    },
  }),
};
