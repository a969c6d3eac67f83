import type { DeviceVariant } from './types.ts';

export const badMethodIs404: DeviceVariant = {
  name: 'bad-method-is-404',
  side: 'device',
  summary: 'Answers a method that a path does not have with 404.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      refusal: (refusal) => (refusal.status === 405 ? { ...refusal, status: 404, headers: {} } : refusal),
    },
  }),
};
