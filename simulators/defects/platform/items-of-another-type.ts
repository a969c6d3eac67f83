import type { PlatformDefect } from './types.ts';

export const itemsOfAnotherType: PlatformDefect = {
  name: 'items-of-another-type',
  side: 'platform',
  summary: 'Names the type of a device by its status.',
  breaks: ['platform.list.items'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'device' ? { ...resource, object: `${resource['status']}_device` } : resource,
  }),
};
