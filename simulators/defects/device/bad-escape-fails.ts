import type { DeviceDefect } from './types.ts';

export const badEscapeFails: DeviceDefect = {
  name: 'bad-escape-fails',
  side: 'device',
  summary: 'Fails with 500 on a path with a broken escape.',
  breaks: ['device.robust.requests'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      route: (path) => {
        const route = right.http.route(path);
        return route === undefined ? undefined : decodeURIComponent(route);
      },
    },
  }),
};
