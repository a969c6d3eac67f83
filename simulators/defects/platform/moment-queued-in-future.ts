import type { PlatformDefect } from './types.ts';

export const momentQueuedInFuture: PlatformDefect = {
  name: 'moment-queued-in-future',
  side: 'platform',
  summary: 'Records a moment of queueing that lies an hour ahead.',
  breaks: ['platform.deployment.timestamps'],
  behaviour: (right) => ({
    ...right,
    stamp: (moment, facts) => {
      const stamped = right.stamp(moment, facts);
      return moment === 'queued' && stamped !== null
        ? new Date(Date.parse(stamped) + 3_600_000).toISOString()
        : facts.now;
    },
  }),
};
