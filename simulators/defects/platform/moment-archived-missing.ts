import type { PlatformDefect } from './types.ts';

export const momentArchivedMissing: PlatformDefect = {
  name: 'moment-archived-missing',
  side: 'platform',
  summary: 'Does not show when a deployment was archived.',
  breaks: ['platform.deployment.timestamps'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) => (kind === 'deployment' ? { ...resource, archived_at: null } : resource),
  }),
};
