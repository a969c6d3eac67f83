import { setTimeout } from 'node:timers/promises';
import type { DeviceDefect } from './types.ts';

export const storedAfterDelivery: DeviceDefect = {
  name: 'stored-after-delivery',
  side: 'device',
  summary: 'Delivers events at once, and writes them to the log a little later.',
  breaks: ['device.log.crash'],
  behaviour: (right) => ({
    ...right,
    log: {
      ...right.log,
      publish: async ({ store, commit, deliver }) => {
        deliver();
        await setTimeout(150);
        await store();
        commit();
      },
    },
  }),
};
