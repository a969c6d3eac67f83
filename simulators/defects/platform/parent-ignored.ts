import type { PlatformDefect } from './types.ts';

export const parentIgnored: PlatformDefect = {
  name: 'parent-ignored',
  side: 'platform',
  summary: 'Never looks at parent_id.',
  breaks: ['platform.deployment.parent'],
  behaviour: (right) => ({
    ...right,
    parentHolds: () => true,
  }),
};
