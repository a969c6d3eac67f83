import type { PlatformVariant } from './types.ts';

export const errorsWithoutBody: PlatformVariant = {
  name: 'errors-without-body',
  side: 'platform',
  summary: 'Says nothing but the status of an error.',
  behaviour: (right) => ({
    ...right,
    error: ({ status }) => ({ status, body: null }),
  }),
};
