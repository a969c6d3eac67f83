import type { PlatformVariant } from './types.ts';

export const namesTwice: PlatformVariant = {
  name: 'names-twice',
  side: 'platform',
  summary: 'Lets names and slugs be used twice.',
  behaviour: (right) => ({
    ...right,
    allowsDuplicates: true,
  }),
};
