import type { PlatformVariant } from './types.ts';

export const pingOtherWords: PlatformVariant = {
  name: 'ping-other-words',
  side: 'platform',
  summary: 'Has words of its own for a ping that nobody answered, and a round trip of null.',
  behaviour: (right) => ({
    ...right,
    pingAnswer: (outcome, elapsed) =>
      outcome.code === 'timeout'
        ? { status: 200, body: { code: 'unreachable', round_trip_nanos: null } }
        : right.pingAnswer(outcome, elapsed),
  }),
};
