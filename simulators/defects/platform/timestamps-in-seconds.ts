import type { PlatformDefect } from './types.ts';

export const timestampsInSeconds: PlatformDefect = {
  name: 'timestamps-in-seconds',
  side: 'platform',
  summary: 'Gives moments as seconds since the epoch.',
  breaks: ['platform.timestamps'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment'
        ? resource
        : { ...resource, created_at: Math.floor(Date.parse(String(resource['created_at'])) / 1000) },
  }),
};
