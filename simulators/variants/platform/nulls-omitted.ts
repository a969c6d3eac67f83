import type { PlatformVariant } from './types.ts';

export const nullsOmitted: PlatformVariant = {
  name: 'nulls-omitted',
  side: 'platform',
  summary: 'Omits what is null, whether it was asked for or not.',
  behaviour: (right) => ({
    ...right,
    resource: (_kind, resource) => Object.fromEntries(Object.entries(resource).filter(([, value]) => value !== null)),
  }),
};
