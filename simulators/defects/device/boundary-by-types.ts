import type { DeviceDefect } from './types.ts';

export const boundaryByTypes: DeviceDefect = {
  name: 'boundary-by-types',
  side: 'device',
  summary: 'Takes a cursor for expired where none of the listed types is retained after it.',
  breaks: ['device.events.expired.boundary'],
  behaviour: (right) => {
    let listed = '';
    return {
      ...right,
      http: {
        ...right.http,
        intercept: (request, response) => {
          listed = new URL(request.url ?? '/', 'http://device').searchParams.get('types') ?? '';
          return right.http.intercept(request, response);
        },
      },
      stream: {
        ...right.stream,
        // Nothing is removed while the border is looked at.
        resolveCursor: (cursor, retained) =>
          listed === 'deployment.removed' && cursor !== 'none' && cursor < retained.latest
            ? 'expired'
            : right.stream.resolveCursor(cursor, retained),
      },
    };
  },
};
