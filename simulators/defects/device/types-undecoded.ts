import type { DeviceDefect } from './types.ts';

export const typesUndecoded: DeviceDefect = {
  name: 'types-undecoded',
  side: 'device',
  summary: 'Compares types as they stand in the address, percent signs and all.',
  breaks: ['device.events.types'],
  behaviour: (right) => {
    let raw: string | undefined;
    return {
      ...right,
      http: {
        ...right.http,
        intercept: (request, response) => {
          raw = /[?&]types=([^&]*)/.exec(request.url ?? '')?.[1];
          return right.http.intercept(request, response);
        },
      },
      stream: {
        ...right.stream,
        parseTypes: () => (raw === undefined ? undefined : new Set(raw.split(','))),
      },
    };
  },
};
