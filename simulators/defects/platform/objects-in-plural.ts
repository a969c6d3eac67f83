import type { PlatformDefect } from './types.ts';

export const objectsInPlural: PlatformDefect = {
  name: 'objects-in-plural',
  side: 'platform',
  summary: 'Names the collection in object, not the type.',
  breaks: ['platform.list.items'],
  behaviour: (right) => ({
    ...right,
    resource: (_kind, resource) => ({ ...resource, object: `${resource['object']}s` }),
  }),
};
