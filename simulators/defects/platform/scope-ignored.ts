import type { PlatformDefect } from './types.ts';

export const scopeIgnored: PlatformDefect = {
  name: 'scope-ignored',
  side: 'platform',
  summary: 'Lets every key do everything.',
  breaks: ['platform.auth.scope'],
  behaviour: (right) => ({
    ...right,
    permits: () => true,
  }),
};
