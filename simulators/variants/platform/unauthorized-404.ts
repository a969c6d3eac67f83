import type { PlatformVariant } from './types.ts';

export const unauthorized404: PlatformVariant = {
  name: 'unauthorized-404',
  side: 'platform',
  summary: 'Tells nobody without a key what there is.',
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.status === 401 ? { ...facts, status: 404 } : facts),
  }),
};
