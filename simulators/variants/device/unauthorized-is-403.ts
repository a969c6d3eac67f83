import type { DeviceVariant } from './types.ts';

export const unauthorizedIs403: DeviceVariant = {
  name: 'unauthorized-is-403',
  side: 'device',
  summary: 'Answers 403 where the token is missing or wrong (section 7 shows no status for it).',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      refusal: (refusal) => (refusal.status === 401 ? { ...refusal, status: 403, headers: {} } : refusal),
    },
  }),
};
