import type { PlatformDefect } from './types.ts';

export const badJsonFails: PlatformDefect = {
  name: 'bad-json-fails',
  side: 'platform',
  summary: 'Fails on a body that is no JSON.',
  breaks: ['platform.robust.bodies'],
  behaviour: (right) => ({
    ...right,
    error: (facts) => right.error(facts.code === 'invalid_json' ? { ...facts, status: 500 } : facts),
  }),
};
