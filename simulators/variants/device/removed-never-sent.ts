import type { DeviceVariant } from './types.ts';

export const removedNeverSent: DeviceVariant = {
  name: 'removed-never-sent',
  side: 'device',
  summary: 'Never sends deployment.removed for a deployment, as its trigger is not stated (section 6.3).',
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      announce: (events) => events.filter(({ type }) => type !== 'deployment.removed'),
    },
  }),
};
