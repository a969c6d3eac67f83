import type { PlatformDefect } from './types.ts';

export const parentOmittedIsNull: PlatformDefect = {
  name: 'parent-omitted-is-null',
  side: 'platform',
  summary: 'Takes an omitted parent_id for null.',
  breaks: ['platform.deployment.parent'],
  behaviour: (right) => ({
    ...right,
    parentHolds: (given, current, version) => right.parentHolds(given ?? null, current, version),
  }),
};
