import type { PlatformDefect } from './types.ts';

export const unknownIdEmpty: PlatformDefect = {
  name: 'unknown-id-empty',
  side: 'platform',
  summary: 'Answers 200 with an empty object for an id that does not exist.',
  breaks: ['platform.robust.references'],
  behaviour: (right) => ({
    ...right,
    error: (facts) => (facts.code.endsWith('_not_found') ? { status: 200, body: {} } : right.error(facts)),
  }),
};
