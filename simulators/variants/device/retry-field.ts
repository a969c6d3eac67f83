import type { DeviceVariant } from './types.ts';

export const retryField: DeviceVariant = {
  name: 'retry-field',
  side: 'device',
  summary: 'Sends the retry field of the standard at the start, and in every frame.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      preamble: 'retry: 500\n\n',
      frame: (event) => `retry: 500\n${right.stream.frame(event)}`,
    },
  }),
};
