import type { DeviceVariant } from './types.ts';

export const malformedIs422: DeviceVariant = {
  name: 'malformed-is-422',
  side: 'device',
  summary: 'Answers a malformed cursor with 422.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      refusal: (refusal) => (refusal.code === 'invalid_cursor' ? { ...refusal, status: 422 } : refusal),
    },
  }),
};
