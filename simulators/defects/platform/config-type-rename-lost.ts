import type { PlatformDefect } from './types.ts';

export const configTypeRenameLost: PlatformDefect = {
  name: 'config-type-rename-lost',
  side: 'platform',
  summary: 'Takes a new name of a config type, and goes on with the one it had.',
  breaks: ['platform.config-type.slug'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'config_type' && 'slug' in resource ? { ...resource, name: resource['slug'] } : resource,
  }),
};
