import type { DeviceVariant } from './types.ts';

export const removedWithoutPayload: DeviceVariant = {
  name: 'removed-without-payload',
  side: 'device',
  summary: 'Sends deployment.removed with an empty payload, as none is shown (section 6.3).',
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      event: (draft) => (draft.type === 'deployment.removed' ? { type: draft.type, data: {} } : draft),
    },
  }),
};
