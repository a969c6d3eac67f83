import { deployedEvent } from '../../device/state/payloads.ts';
import type { DeviceDefect } from './types.ts';

export const deployedWhenQueued: DeviceDefect = {
  name: 'deployed-when-queued',
  side: 'device',
  summary: 'Publishes deployment.deployed when a deployment is queued, before anything is written.',
  breaks: ['device.events.deployed-only'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      announce: (events, change) =>
        change.kind === 'entered' && change.deployment.activity_status === 'queued'
          ? [deployedEvent(change.deployment, change.deployment.created_at)]
          : events,
    },
  }),
};
