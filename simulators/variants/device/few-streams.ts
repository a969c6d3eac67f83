import type { DeviceVariant } from './types.ts';

const MOST = 5;

export const fewStreams: DeviceVariant = {
  name: 'few-streams',
  side: 'device',
  summary: 'Serves five event streams at once, and puts others off with 503: limits are not shown.',
  behaviour: (right) => {
    let open = 0;
    return {
      ...right,
      http: {
        ...right.http,
        intercept: (request, response) => {
          if (request.url?.includes('/events') !== true) return right.http.intercept(request, response);
          if (open >= MOST) {
            response.writeHead(503, { 'Content-Length': 0 }).end();
            return true;
          }
          open += 1;
          response.once('close', () => {
            open -= 1;
          });
          return right.http.intercept(request, response);
        },
      },
    };
  },
};
