import type { DeviceVariant } from './types.ts';

const MOST = 4;

export const fewStreamsRetryAfter: DeviceVariant = {
  name: 'few-streams-retry-after',
  side: 'device',
  summary: 'Serves four event streams at once, and asks others to come back in a second: limits are not shown.',
  behaviour: (right) => {
    let open = 0;
    return {
      ...right,
      http: {
        ...right.http,
        intercept: (request, response) => {
          if (request.url?.includes('/events') !== true) return right.http.intercept(request, response);
          if (open >= MOST) {
            response.writeHead(503, { 'Content-Length': 0, 'Retry-After': '1' }).end();
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
