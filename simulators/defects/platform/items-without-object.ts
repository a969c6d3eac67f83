import type { PlatformDefect } from './types.ts';

export const itemsWithoutObject: PlatformDefect = {
  name: 'items-without-object',
  side: 'platform',
  summary: 'Lists items without their object field.',
  breaks: ['platform.list.envelope'],
  behaviour: (right) => ({
    ...right,
    resource: (_kind, { object: _object, ...resource }) => resource,
  }),
};
