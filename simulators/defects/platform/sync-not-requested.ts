import type { PlatformDefect } from './types.ts';

export const syncNotRequested: PlatformDefect = {
  name: 'sync-not-requested',
  side: 'platform',
  summary: 'Never tells a device that it has something to fetch.',
  breaks: ['system.deploy', 'system.soak'],
  behaviour: (right) => ({
    ...right,
    notifies: false,
  }),
};
