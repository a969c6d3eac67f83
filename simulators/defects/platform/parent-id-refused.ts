import type { PlatformDefect } from './types.ts';

export const parentIdRefused: PlatformDefect = {
  name: 'parent-id-refused',
  side: 'platform',
  summary: 'Refuses the id of the current target deployment.',
  breaks: ['platform.deployment.parent'],
  behaviour: (right) => ({
    ...right,
    parentHolds: (given, current, version) => typeof given !== 'string' && right.parentHolds(given, current, version),
  }),
};
