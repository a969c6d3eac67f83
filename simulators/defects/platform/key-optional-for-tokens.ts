import type { PlatformDefect } from './types.ts';

export const keyOptionalForTokens: PlatformDefect = {
  name: 'key-optional-for-tokens',
  side: 'platform',
  summary: 'Issues provisioning tokens without a key.',
  breaks: ['platform.auth.key-required'],
  behaviour: (right) => ({
    ...right,
    authenticate: (found, _presented, all, operation) =>
      found ?? (operation === 'createProvisioningToken' ? all[0] : undefined),
  }),
};
