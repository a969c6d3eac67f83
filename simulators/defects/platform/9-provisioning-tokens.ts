import { answers, defect, variant } from '../define-platform.ts';

/** Maximum number of provisioning tokens that the variant issues. */
const AT_ONCE = 4;

export const defects = [
  defect(
    'token-without-expiry',
    'Issues provisioning tokens without an expiry.',
    ['platform.provisioning-token'],
    answers('createProvisioningToken', ({ token }) => ({ token })),
  ),
  defect('token-in-tetons', 'Issues provisioning tokens in tetons.', ['platform.provisioning-token'], {
    servesForeignOperations: true,
  }),
  defect('token-repeated', 'Issues the same token every time.', ['platform.provisioning-token'], (reference) => {
    let first: unknown;
    return answers('createProvisioningToken', (body) => {
      first ??= body;
      return first;
    })(reference);
  }),
];

export const variants = [
  variant(
    'tokens-limited',
    `Issues no more than ${AT_ONCE} provisioning tokens that are valid at once.`,
    ({ error }) => {
      let issued = 0;
      return {
        answer: (operation, answer) => {
          if (operation !== 'createProvisioningToken' || ++issued <= AT_ONCE) return answer;
          const message = `no more than ${AT_ONCE} at once`;
          return error({ status: 409, code: 'too_many_tokens', params: {}, message });
        },
      };
    },
  ),
];
