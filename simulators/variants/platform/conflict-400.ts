import type { PlatformVariant } from './types.ts';

export const conflict400: PlatformVariant = {
  name: 'conflict-400',
  side: 'platform',
  summary: 'Answers 400 where others answer 409.',
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.status === 409 ? { ...facts, status: 400 } : facts),
  }),
};
