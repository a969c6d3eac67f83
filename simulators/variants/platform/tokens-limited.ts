import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformVariant } from './types.ts';

/** One of them may be what a device was enrolled with. */
const AT_ONCE = 4;

export const tokensLimited: PlatformVariant = {
  name: 'tokens-limited',
  side: 'platform',
  summary: `Issues no more than ${AT_ONCE} provisioning tokens that are valid at once.`,
  behaviour: (right) => ({
    ...right,
    ...upTo(AT_ONCE, right),
  }),
};

function upTo(most: number, right: PlatformBehaviour): Pick<PlatformBehaviour, 'answer'> {
  let issued = 0;
  return {
    answer: (operation, answer) => {
      if (operation !== 'createProvisioningToken') return answer;
      issued += 1;
      if (issued <= most) return answer;
      return right.error({ status: 409, code: 'too_many_tokens', params: {}, message: `no more than ${most} at once` });
    },
  };
}
