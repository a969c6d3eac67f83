import type { PlatformDefect } from './types.ts';

export const namesInAscii: PlatformDefect = {
  name: 'names-in-ascii',
  side: 'platform',
  summary: 'Writes a question mark for every letter that ASCII has not.',
  breaks: ['platform.robust.names'],
  behaviour: (right) => ({
    ...right,
    resource: (_kind, resource) =>
      typeof resource['name'] === 'string'
        ? { ...resource, name: resource['name'].replace(/[^\x20-\x7e]/g, '?') }
        : resource,
  }),
};
