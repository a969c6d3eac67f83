import type { DeviceVariant } from './types.ts';

export const replayWithoutCursor: DeviceVariant = {
  name: 'replay-without-cursor',
  side: 'device',
  summary: 'Replays everything retained when there is no cursor (section 4.1 is silent).',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) =>
        cursor === 'none' ? retained.earliest - 1 : right.stream.resolveCursor(cursor, retained),
    },
  }),
};
