import type { DeviceDefect } from './types.ts';

export const badMethodFails: DeviceDefect = {
  name: 'bad-method-fails',
  side: 'device',
  summary: 'Answers a method that it does not know with 500.',
  breaks: ['device.robust.requests'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, refusal: (refusal) => (refusal.status === 405 ? { ...refusal, status: 500 } : refusal) },
  }),
};
