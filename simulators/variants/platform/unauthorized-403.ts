import type { PlatformVariant } from './types.ts';

export const unauthorized403: PlatformVariant = {
  name: 'unauthorized-403',
  side: 'platform',
  summary: 'Answers 403 to a key that is missing or unknown.',
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.status === 401 ? { ...facts, status: 403 } : facts),
  }),
};
