import type { PlatformVariant } from './types.ts';

export const pingTimeout408: PlatformVariant = {
  name: 'ping-timeout-408',
  side: 'platform',
  summary: 'Answers 408 to a ping that nobody answered.',
  behaviour: (right) => ({
    ...right,
    pingAnswer: (outcome, elapsed) =>
      outcome.code === 'timeout' ? { status: 408, body: { code: 'timeout' } } : right.pingAnswer(outcome, elapsed),
  }),
};
