import type { DeviceVariant } from './types.ts';

export const futureCursorRefused: DeviceVariant = {
  name: 'future-cursor-refused',
  side: 'device',
  summary: 'Refuses a cursor beyond the newest event with 400 (section 4.1 is silent).',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: (request) => {
        const cursor = right.stream.chooseCursor(request);
        return typeof cursor === 'number' && cursor > 2 ** 40 ? 'malformed' : cursor;
      },
    },
  }),
};
