import { setTimeout as sleep } from 'node:timers/promises';
import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const pingPatient: PlatformDefect = {
  name: 'ping-patient',
  side: 'platform',
  summary: 'Waits five seconds longer than it was told.',
  breaks: ['platform.ping.timeout'],
  behaviour: (right) => ({
    ...right,
    ...waitingLonger(right),
  }),
};

/** Only where nobody answers: a device that does is told of at once. */
function waitingLonger(right: PlatformBehaviour): Pick<PlatformBehaviour, 'ping'> {
  return {
    ping: async (link, deviceId, timeoutNanos) => {
      const outcome = await right.ping(link, deviceId, timeoutNanos);
      if (outcome.code === 'timeout') await sleep(5000);
      return outcome;
    },
  };
}
