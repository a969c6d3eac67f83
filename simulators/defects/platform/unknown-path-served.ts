import type { PlatformDefect } from './types.ts';

export const unknownPathServed: PlatformDefect = {
  name: 'unknown-path-served',
  side: 'platform',
  summary: 'Answers 200 at paths that do not exist.',
  breaks: ['platform.robust.routes'],
  behaviour: (right) => ({
    ...right,
    error: (facts) => (facts.code === 'unknown_route' ? { status: 200, body: {} } : right.error(facts)),
  }),
};
