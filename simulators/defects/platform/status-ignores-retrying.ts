import type { PlatformDefect } from './types.ts';

export const statusIgnoresRetrying: PlatformDefect = {
  name: 'status-ignores-retrying',
  side: 'platform',
  summary: 'Shows failed in status, but not retrying.',
  breaks: ['platform.deployment.merge'],
  behaviour: (right) => ({
    ...right,
    mergeStatus: (activity, error) => (error === 'failed' ? 'failed' : activity),
  }),
};
