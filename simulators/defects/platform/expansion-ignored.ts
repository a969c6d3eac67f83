import type { PlatformDefect } from './types.ts';

export const expansionIgnored: PlatformDefect = {
  name: 'expansion-ignored',
  side: 'platform',
  summary: 'Does not expand the current release.',
  breaks: ['platform.device.expand'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) => {
      if (kind !== 'device') return resource;
      const { current_release: _release, ...rest } = resource;
      return rest;
    },
  }),
};
