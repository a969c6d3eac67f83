import type { DeviceDefect } from './types.ts';

export const malformedIsExpired: DeviceDefect = {
  name: 'malformed-is-expired',
  side: 'device',
  summary: 'Answers a malformed cursor with 410.',
  breaks: ['device.events.cursor.malformed'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      refusal: (refusal) => (refusal.code === 'invalid_cursor' ? { ...refusal, status: 410 } : refusal),
    },
  }),
};
