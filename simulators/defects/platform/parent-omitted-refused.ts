import type { PlatformDefect } from './types.ts';

export const parentOmittedRefused: PlatformDefect = {
  name: 'parent-omitted-refused',
  side: 'platform',
  summary: 'Creates no deployment without parent_id.',
  breaks: ['platform.deployment.parent'],
  behaviour: (right) => ({
    ...right,
    parentHolds: (given, current, version) => given !== undefined && right.parentHolds(given, current, version),
  }),
};
