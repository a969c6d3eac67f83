import { deployedEvent } from '../../device/state/payloads.ts';
import type { DeviceDefect } from './types.ts';

export const deployedForEveryState: DeviceDefect = {
  name: 'deployed-for-every-state',
  side: 'device',
  summary: 'Publishes deployment.deployed for every state that a deployment enters.',
  breaks: ['device.events.deployed-only'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      announce: (events, change) =>
        change.kind === 'entered' && events.length === 0
          ? [deployedEvent(change.deployment, change.deployment.created_at)]
          : events,
    },
  }),
};
