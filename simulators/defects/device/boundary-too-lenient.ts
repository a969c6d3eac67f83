import type { DeviceDefect } from './types.ts';

export const boundaryTooLenient: DeviceDefect = {
  name: 'boundary-too-lenient',
  side: 'device',
  summary: 'Serves cursors up to three events before the earliest retained one, though what followed them is lost.',
  breaks: ['device.events.expired.410'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) =>
        typeof cursor === 'number' && cursor < retained.earliest && cursor >= retained.earliest - 4
          ? retained.earliest - 1
          : right.stream.resolveCursor(cursor, retained),
    },
  }),
};
