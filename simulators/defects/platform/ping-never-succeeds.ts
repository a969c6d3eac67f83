import type { PlatformDefect } from './types.ts';

export const pingNeverSucceeds: PlatformDefect = {
  name: 'ping-never-succeeds',
  side: 'platform',
  summary: 'Calls every ping a timeout.',
  breaks: ['platform.ping.success'],
  behaviour: (right) => ({
    ...right,
    pingAnswer: () => ({ status: 200, body: { code: 'timeout' } }),
  }),
};
