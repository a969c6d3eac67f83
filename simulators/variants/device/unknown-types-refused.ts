import { isEventType } from '../../../harness/contract/enums.ts';
import type { DeviceVariant } from './types.ts';

export const unknownTypesRefused: DeviceVariant = {
  name: 'unknown-types-refused',
  side: 'device',
  summary: 'Refuses a filter that names a type it never sends, with 400 (section 4.1 is silent).',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      intercept: (request, response) => {
        const { searchParams } = new URL(request.url ?? '/', 'http://device');
        const unknown = searchParams
          .getAll('types')
          .flatMap((types) => types.split(','))
          .some((type) => !isEventType(type));
        if (unknown) response.writeHead(400).end();
        return unknown;
      },
    },
  }),
};
