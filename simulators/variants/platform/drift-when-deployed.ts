import type { PlatformVariant } from './types.ts';

export const driftWhenDeployed: PlatformVariant = {
  name: 'drift-when-deployed',
  side: 'platform',
  summary: 'Lets staged deployments drift only once another is on the device.',
  behaviour: (right) => ({
    ...right,
    driftsOn: 'deployed',
  }),
};
