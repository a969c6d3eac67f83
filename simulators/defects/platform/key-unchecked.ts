import type { PlatformDefect } from './types.ts';

export const keyUnchecked: PlatformDefect = {
  name: 'key-unchecked',
  side: 'platform',
  summary: 'Serves any key.',
  breaks: ['platform.auth.key-wrong'],
  behaviour: (right) => ({
    ...right,
    authenticate: (found, presented, all) => found ?? (presented === undefined ? undefined : all[0]),
  }),
};
