import type { DeviceVariant } from './types.ts';

export const zeroMeansEarliest: DeviceVariant = {
  name: 'zero-means-earliest',
  side: 'device',
  summary: 'Takes after=0 as from the earliest retained event, also after a compaction.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) =>
        cursor === 0 ? retained.earliest - 1 : right.stream.resolveCursor(cursor, retained),
    },
  }),
};
