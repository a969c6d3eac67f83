import type { PlatformVariant } from './types.ts';

export const contentUnchecked: PlatformVariant = {
  name: 'content-unchecked',
  side: 'platform',
  summary: 'Does not check content against its schema.',
  behaviour: (right) => ({
    ...right,
    validatesContent: false,
  }),
};
