import type { PlatformVariant } from './types.ts';

export const listsShowLess: PlatformVariant = {
  name: 'lists-show-less',
  side: 'platform',
  summary: 'Leaves out of a list where a schema writes to: a single read shows it.',
  behaviour: (right) => ({
    ...right,
    envelope: (envelope) => ({
      ...envelope,
      data: (envelope['data'] as Record<string, unknown>[]).map(({ instance_slots: _slots, ...item }) => item),
    }),
  }),
};
