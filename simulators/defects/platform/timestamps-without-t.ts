import type { PlatformDefect } from './types.ts';

export const timestampsWithoutT: PlatformDefect = {
  name: 'timestamps-without-t',
  side: 'platform',
  summary: 'Separates date and time by a space.',
  breaks: ['platform.timestamps'],
  behaviour: (right) => ({
    ...right,
    resource: (_kind, resource) => ({ ...resource, created_at: String(resource['created_at']).replace('T', ' ') }),
  }),
};
