import type { DeviceDefect } from './types.ts';

export const typesLoseHeader: DeviceDefect = {
  name: 'types-lose-header',
  side: 'device',
  summary: 'Forgets Last-Event-ID when there is a filter.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      intercept: (request, response) => {
        if (request.url?.includes('types=') === true) delete request.headers['last-event-id'];
        return right.http.intercept(request, response);
      },
    },
  }),
};
