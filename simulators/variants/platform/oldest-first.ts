import type { PlatformVariant } from './types.ts';

export const oldestFirst: PlatformVariant = {
  name: 'oldest-first',
  side: 'platform',
  summary: 'Lists the oldest items first by default.',
  behaviour: (right) => ({
    ...right,
    order: (asked) => right.order(asked.length > 0 ? asked : [{ field: 'created_at', descending: false }]),
  }),
};
