import type { PlatformDefect } from './types.ts';

export const unknownIdFails: PlatformDefect = {
  name: 'unknown-id-fails',
  side: 'platform',
  summary: 'Fails on an id that does not exist.',
  breaks: ['platform.robust.references'],
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.code.endsWith('_not_found') ? { ...facts, status: 500 } : facts),
  }),
};
