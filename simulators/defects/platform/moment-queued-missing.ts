import type { PlatformDefect } from './types.ts';

export const momentQueuedMissing: PlatformDefect = {
  name: 'moment-queued-missing',
  side: 'platform',
  summary: 'Does not record when a deployment was queued.',
  breaks: ['platform.deployment.timestamps'],
  behaviour: (right) => ({
    ...right,
    stamp: (moment, facts) => (moment === 'queued' ? null : right.stamp(moment, facts)),
  }),
};
