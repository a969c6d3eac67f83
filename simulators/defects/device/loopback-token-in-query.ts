import type { DeviceDefect } from './types.ts';

export const loopbackTokenInQuery: DeviceDefect = {
  name: 'loopback-token-in-query',
  side: 'device',
  summary: 'Takes the token from the query as well.',
  breaks: ['device.loopback.bearer-required'],
  behaviour: (right) => {
    let secret: string | undefined;
    return {
      ...right,
      transport: {
        ...right.transport,
        authorized: (header, token, transport) => {
          secret = token;
          return header === undefined || right.transport.authorized(header, token, transport);
        },
      },
      http: {
        ...right.http,
        intercept: (request, response) => {
          const overTcp = request.socket.remoteAddress !== undefined;
          const given = new URLSearchParams(request.url?.split('?')[1]).get('access_token');
          if (overTcp && request.headers.authorization === undefined && given !== secret) {
            response.writeHead(401).end();
            return true;
          }
          return right.http.intercept(request, response);
        },
      },
    };
  },
};
