import type { PlatformVariant } from './types.ts';

export const scope401: PlatformVariant = {
  name: 'scope-401',
  side: 'platform',
  summary: 'Answers 401 where the key lacks a scope.',
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.code === 'missing_scope' ? { ...facts, status: 401 } : facts),
  }),
};
