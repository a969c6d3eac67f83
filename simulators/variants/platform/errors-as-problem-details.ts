import type { PlatformVariant } from './types.ts';

export const errorsAsProblemDetails: PlatformVariant = {
  name: 'errors-as-problem-details',
  side: 'platform',
  summary: 'Describes errors as RFC 9457 does.',
  behaviour: (right) => ({
    ...right,
    error: ({ status, code, message }) => ({ status, body: { type: `urn:problem:${code}`, title: message, status } }),
  }),
};
