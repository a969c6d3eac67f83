import type { PlatformDefect } from './types.ts';

export const membershipWritten: PlatformDefect = {
  name: 'membership-written',
  side: 'platform',
  summary: 'Lets a device be put into a group by PATCH.',
  breaks: ['platform.group.tree'],
  behaviour: (right) => ({
    ...right,
    bodyProblems: (operation, value, check) =>
      operation === 'updateDevice' ? [] : right.bodyProblems(operation, value, check),
  }),
};
