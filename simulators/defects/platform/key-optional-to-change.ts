import type { PlatformDefect } from './types.ts';

export const keyOptionalToChange: PlatformDefect = {
  name: 'key-optional-to-change',
  side: 'platform',
  summary: 'Changes a config type without a key.',
  breaks: ['platform.auth.key-required'],
  behaviour: (right) => ({
    ...right,
    authenticate: (found, _presented, all, operation) =>
      found ?? (operation === 'updateConfigType' ? all[0] : undefined),
  }),
};
