import type { PlatformDefect } from './types.ts';

export const schemasCalledTypes: PlatformDefect = {
  name: 'schemas-called-types',
  side: 'platform',
  summary: 'Says of config schemas that they are config types.',
  breaks: ['platform.list.items'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) => (kind === 'config_schema' ? { ...resource, object: 'config_type' } : resource),
  }),
};
