import type { DeviceDefect } from './types.ts';

export const expiredNotFound: DeviceDefect = {
  name: 'expired-not-found',
  side: 'device',
  summary: 'Answers an expired cursor with 404.',
  breaks: ['device.events.expired.410'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, refusal: (refusal) => (refusal.status === 410 ? { ...refusal, status: 404 } : refusal) },
  }),
};
