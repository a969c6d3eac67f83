import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const tokenRepeated: PlatformDefect = {
  name: 'token-repeated',
  side: 'platform',
  summary: 'Issues the same token to everybody.',
  breaks: ['platform.provisioning-token'],
  behaviour: (right) => ({
    ...right,
    ...oneToken(),
  }),
};

function oneToken(): Pick<PlatformBehaviour, 'answer'> {
  let first: unknown;
  return {
    answer: (operation, answer) => {
      if (operation !== 'createProvisioningToken') return answer;
      first ??= answer.body;
      return { ...answer, body: first };
    },
  };
}
