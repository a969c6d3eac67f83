import type { PlatformVariant } from './types.ts';

export const unprocessable422: PlatformVariant = {
  name: 'unprocessable-422',
  side: 'platform',
  summary: 'Answers 422 where a body is well-formed and wrong.',
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.code.startsWith('invalid_') ? { ...facts, status: 422 } : facts),
  }),
};
