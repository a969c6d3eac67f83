import type { PlatformVariant } from './types.ts';

export const created201: PlatformVariant = {
  name: 'created-201',
  side: 'platform',
  summary: 'Answers 201 to what creates.',
  behaviour: (right) => ({
    ...right,
    createdStatus: 201,
  }),
};
