import type { DeviceDefect } from './types.ts';

export const expiredWithTypesIsLive: DeviceDefect = {
  name: 'expired-with-types-is-live',
  side: 'device',
  summary: 'Forgets about 410 when types are listed.',
  breaks: ['device.events.expired.410'],
  behaviour: (right) => {
    let listed = false;
    return {
      ...right,
      http: {
        ...right.http,
        intercept: (request, response) => {
          listed = request.url?.includes('types=') === true;
          return right.http.intercept(request, response);
        },
      },
      stream: {
        ...right.stream,
        resolveCursor: (cursor, retained) => {
          const after = right.stream.resolveCursor(cursor, retained);
          return after === 'expired' && listed ? retained.earliest - 1 : after;
        },
      },
    };
  },
};
