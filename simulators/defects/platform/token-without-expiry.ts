import type { PlatformDefect } from './types.ts';

export const tokenWithoutExpiry: PlatformDefect = {
  name: 'token-without-expiry',
  side: 'platform',
  summary: 'Issues provisioning tokens without an expiry.',
  breaks: ['platform.provisioning-token'],
  behaviour: (right) => ({
    ...right,
    answer: (operation, { status, body }) => {
      if (operation !== 'createProvisioningToken') return { status, body };
      const { token } = body as { token: string };
      return { status, body: { token } };
    },
  }),
};
