import type { PlatformVariant } from './types.ts';

const YEAR_MS = 365 * 86_400_000;

export const momentsToCome: PlatformVariant = {
  name: 'moments-to-come',
  side: 'platform',
  summary: 'Tells of a deployment after which moment it will be archived.',
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment'
        ? {
            auto_archived_after: new Date(Date.parse(String(resource['created_at'])) + YEAR_MS).toISOString(),
            ...resource,
          }
        : resource,
  }),
};
