import type { PlatformVariant } from './types.ts';

export const slugPatchRefusedAlways: PlatformVariant = {
  name: 'slug-patch-refused-always',
  side: 'platform',
  summary: 'Refuses a new slug in every version.',
  behaviour: (right) => ({
    ...right,
    slugPatch: () => 'refuse',
  }),
};
