import type { DeviceDefect } from './types.ts';

const MOST = 64;

export const subscribersLeak: DeviceDefect = {
  name: 'subscribers-leak',
  side: 'device',
  summary: 'Counts subscribers that come, not those that leave, and refuses more when it has counted 64.',
  breaks: ['device.robust.requests.come-and-go'],
  behaviour: (right) => {
    let counted = 0;
    return {
      ...right,
      http: {
        ...right.http,
        intercept: (request, response) => {
          if (request.url?.includes('/events') !== true || ++counted <= MOST) return false;
          response.writeHead(503, { 'Content-Length': 0 }).end();
          return true;
        },
      },
    };
  },
};
