import type { PlatformDefect } from './types.ts';

export const tokenInTetons: PlatformDefect = {
  name: 'token-in-tetons',
  side: 'platform',
  summary: 'Issues provisioning tokens in tetons.',
  breaks: ['platform.provisioning-token'],
  behaviour: (right) => ({
    ...right,
    servesForeignOperations: true,
  }),
};
