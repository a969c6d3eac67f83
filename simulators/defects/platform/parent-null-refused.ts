import type { PlatformDefect } from './types.ts';

export const parentNullRefused: PlatformDefect = {
  name: 'parent-null-refused',
  side: 'platform',
  summary: 'Refuses null although the device has no target deployment.',
  breaks: ['platform.deployment.parent'],
  behaviour: (right) => ({
    ...right,
    parentHolds: (given, current, version) => given !== null && right.parentHolds(given, current, version),
  }),
};
