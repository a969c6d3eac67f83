import type { DeviceDefect } from './types.ts';

export const unknownQueryRefused: DeviceDefect = {
  name: 'unknown-query-refused',
  side: 'device',
  summary: 'Refuses query parameters that it does not know.',
  breaks: ['device.deployment.safe'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      intercept: (request, response) => {
        if (!/\/deployments\/current\?./.test(request.url ?? '')) return false;
        response.writeHead(400).end();
        return true;
      },
    },
  }),
};
