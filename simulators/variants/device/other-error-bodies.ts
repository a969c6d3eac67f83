import type { DeviceVariant } from './types.ts';

export const otherErrorBodies: DeviceVariant = {
  name: 'other-error-bodies',
  side: 'device',
  summary: 'Answers errors with bodies of another shape (section 7 shows none).',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      errorBody: ({ status, code, message }) => ({ type: `urn:agent:${code}`, title: message, status }),
    },
  }),
};
