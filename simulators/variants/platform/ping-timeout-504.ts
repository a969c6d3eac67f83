import type { PlatformVariant } from './types.ts';

export const pingTimeout504: PlatformVariant = {
  name: 'ping-timeout-504',
  side: 'platform',
  summary: 'Answers 504 with an error body to a ping that nobody answered.',
  behaviour: (right) => ({
    ...right,
    pingAnswer: (outcome, elapsed) =>
      outcome.code === 'timeout'
        ? right.error({ status: 504, code: 'device_unreachable', params: {}, message: 'the device did not answer' })
        : right.pingAnswer(outcome, elapsed),
  }),
};
