import type { PlatformVariant } from './types.ts';

export const byId: PlatformVariant = {
  name: 'by-id',
  side: 'platform',
  summary: 'Lists items by id by default.',
  behaviour: (right) => ({
    ...right,
    order: (asked) => right.order(asked.length > 0 ? asked : [{ field: 'id', descending: false }]),
  }),
};
