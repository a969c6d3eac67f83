import type { DeviceDefect } from './types.ts';

export const everyMethodReads: DeviceDefect = {
  name: 'every-method-reads',
  side: 'device',
  summary: 'Answers every method as if it were GET.',
  breaks: ['device.robust.requests'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      intercept: (request) => {
        request.method = 'GET';
        return false;
      },
    },
  }),
};
