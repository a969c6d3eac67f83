import type { PlatformDefect } from './types.ts';

export const wrongMethodFails: PlatformDefect = {
  name: 'wrong-method-fails',
  side: 'platform',
  summary: 'Fails on a method that a path does not have.',
  breaks: ['platform.robust.routes'],
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.status === 405 ? { ...facts, status: 500 } : facts),
  }),
};
