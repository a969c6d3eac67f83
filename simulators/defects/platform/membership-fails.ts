import type { PlatformDefect } from './types.ts';

export const membershipFails: PlatformDefect = {
  name: 'membership-fails',
  side: 'platform',
  summary: 'Fails when a device is to be put into a group by PATCH.',
  breaks: ['platform.group.tree'],
  behaviour: (right) => ({
    ...right,
    bodyProblems: (operation, value, check) => {
      if (operation === 'updateDevice' && typeof value === 'object' && value !== null && 'group_id' in value) {
        throw new Error('nobody expected a group here');
      }
      return right.bodyProblems(operation, value, check);
    },
  }),
};
