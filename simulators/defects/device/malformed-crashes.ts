import type { DeviceDefect } from './types.ts';

export const malformedCrashes: DeviceDefect = {
  name: 'malformed-crashes',
  side: 'device',
  summary: 'Answers a malformed cursor with 500.',
  breaks: ['device.events.cursor.malformed'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      refusal: (refusal) => (refusal.code === 'invalid_cursor' ? { ...refusal, status: 500 } : refusal),
    },
  }),
};
