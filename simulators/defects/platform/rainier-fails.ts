import type { PlatformDefect } from './types.ts';

export const rainierFails: PlatformDefect = {
  name: 'rainier-fails',
  side: 'platform',
  summary: 'Fails to show anything to clients of rainier.',
  breaks: ['platform.version.supported'],
  behaviour: (right) => ({
    ...right,
    resource: (_kind, resource, version) => {
      if (version === '2026-05-06.rainier') throw new Error('nobody knows how to show this any more');
      return resource;
    },
  }),
};
