import type { DeviceVariant } from './types.ts';

export const blocksWithoutData: DeviceVariant = {
  name: 'blocks-without-data',
  side: 'device',
  summary: 'Sends blocks without data, an event name or the id just sent: clients dispatch nothing for them.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      preamble: 'event: stream.opened\n\n',
      frame: (event) => `${right.stream.frame(event)}id: ${event.id}\n\n`,
    },
  }),
};
