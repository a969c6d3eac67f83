import type { PlatformDefect } from './types.ts';

export const keyOptional: PlatformDefect = {
  name: 'key-optional',
  side: 'platform',
  summary: 'Serves requests without a key.',
  breaks: ['platform.auth.key-required'],
  behaviour: (right) => ({
    ...right,
    authenticate: (found, presented, all) => found ?? (presented === undefined ? all[0] : undefined),
  }),
};
