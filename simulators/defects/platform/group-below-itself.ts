import type { PlatformDefect } from './types.ts';

export const groupBelowItself: PlatformDefect = {
  name: 'group-below-itself',
  side: 'platform',
  summary: 'Makes a group its own parent.',
  breaks: ['platform.group.tree'],
  behaviour: (right) => ({
    ...right,
    mayMoveGroup: (group, line) => !line.slice(1).includes(group),
  }),
};
