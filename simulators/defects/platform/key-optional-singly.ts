import type { PlatformDefect } from './types.ts';

export const keyOptionalSingly: PlatformDefect = {
  name: 'key-optional-singly',
  side: 'platform',
  summary: 'Serves single resources without a key.',
  breaks: ['platform.auth.key-required', 'platform.auth.key-wrong'],
  behaviour: (right) => ({
    ...right,
    authenticate: (found, _presented, all, operation) => found ?? (operation.startsWith('get') ? all[0] : undefined),
  }),
};
