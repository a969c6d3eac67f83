import type { PlatformDefect } from './types.ts';

export const largeBodyFails: PlatformDefect = {
  name: 'large-body-fails',
  side: 'platform',
  summary: 'Fails on a body that is too large.',
  breaks: ['platform.robust.bodies'],
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.status === 413 ? { ...facts, status: 500 } : facts),
  }),
};
