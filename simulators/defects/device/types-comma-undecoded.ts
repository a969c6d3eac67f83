import type { DeviceDefect } from './types.ts';

export const typesCommaUndecoded: DeviceDefect = {
  name: 'types-comma-undecoded',
  side: 'device',
  summary: 'Splits the list of types before it is decoded.',
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
        parseTypes: () => (raw === undefined ? undefined : new Set(raw.split(',').map(decodeURIComponent))),
      },
    };
  },
};
