import type { DeviceDefect } from './types.ts';

export const badMethodHangs: DeviceDefect = {
  name: 'bad-method-hangs',
  side: 'device',
  summary: 'Never answers a method that it does not know.',
  breaks: ['device.robust.requests'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, intercept: ({ method = '' }) => !['GET', 'HEAD', 'POST'].includes(method) },
  }),
};
