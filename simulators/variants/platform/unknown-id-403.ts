import type { PlatformVariant } from './types.ts';

export const unknownId403: PlatformVariant = {
  name: 'unknown-id-403',
  side: 'platform',
  summary: 'Answers 403 for ids that do not exist, so that nobody learns which do.',
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.code.endsWith('_not_found') ? { ...facts, status: 403 } : facts),
  }),
};
