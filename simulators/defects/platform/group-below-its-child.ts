import type { PlatformDefect } from './types.ts';

export const groupBelowItsChild: PlatformDefect = {
  name: 'group-below-its-child',
  side: 'platform',
  summary: 'Moves a group below its own descendants.',
  breaks: ['platform.group.tree'],
  behaviour: (right) => ({
    ...right,
    mayMoveGroup: (group, line) => line[0] !== group,
  }),
};
