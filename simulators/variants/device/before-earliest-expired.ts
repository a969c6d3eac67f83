import type { DeviceVariant } from './types.ts';

export const beforeEarliestExpired: DeviceVariant = {
  name: 'before-earliest-expired',
  side: 'device',
  summary: 'Answers 410 also for the id just before the earliest retained event, as section 7 can be read.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) => {
        if (typeof cursor === 'number' && cursor < retained.earliest && retained.earliest > 1) return 'expired';
        return right.stream.resolveCursor(cursor, retained);
      },
    },
  }),
};
