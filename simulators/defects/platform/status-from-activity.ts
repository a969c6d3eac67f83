import type { PlatformDefect } from './types.ts';

export const statusFromActivity: PlatformDefect = {
  name: 'status-from-activity',
  side: 'platform',
  summary: 'Computes status from the activity alone.',
  breaks: ['platform.deployment.merge'],
  behaviour: (right) => ({
    ...right,
    mergeStatus: (activity) => activity,
  }),
};
