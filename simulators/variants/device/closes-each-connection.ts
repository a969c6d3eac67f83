import type { DeviceVariant } from './types.ts';

export const closesEachConnection: DeviceVariant = {
  name: 'closes-each-connection',
  side: 'device',
  summary: 'Closes the connection after each answer, and says so.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      intercept: (request, response) => {
        response.shouldKeepAlive = false;
        return right.http.intercept(request, response);
      },
    },
  }),
};
