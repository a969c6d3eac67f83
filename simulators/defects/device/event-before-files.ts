import { setTimeout } from 'node:timers/promises';
import type { DeviceDefect } from './types.ts';

export const eventBeforeFiles: DeviceDefect = {
  name: 'event-before-files',
  side: 'device',
  summary: 'Publishes deployment.deployed before the files are in place.',
  breaks: ['device.events.written-first'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      enter: async ({ place, publish }) => {
        await publish();
        await setTimeout(100);
        await place();
      },
    },
  }),
};
