import type { PlatformVariant } from './types.ts';

export const limitLowToDefault: PlatformVariant = {
  name: 'limit-low-to-default',
  side: 'platform',
  summary: 'Takes the default in place of a limit below 1.',
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => (Number(values[0]) < 1 && values[0]?.trim() !== '' ? 10 : right.clampLimit(values)),
  }),
};
