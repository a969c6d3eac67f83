import type { DeviceDefect } from './types.ts';

export const unknownPathServes: DeviceDefect = {
  name: 'unknown-path-serves',
  side: 'device',
  summary: 'Answers unknown paths with 200.',
  breaks: ['device.robust.requests'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      refusal: (refusal) => (refusal.code === 'not_found' ? { ...refusal, status: 200 } : refusal),
    },
  }),
};
