import { setTimeout } from 'node:timers/promises';
import type { LiveSubscriber } from '../../device/behaviour.ts';
import type { DeviceDefect } from './types.ts';

export const slowReaderBlocks: DeviceDefect = {
  name: 'slow-reader-blocks',
  side: 'device',
  summary: 'Waits for the slowest subscriber before anyone gets the next event.',
  breaks: ['device.events.slow-reader'],
  behaviour: (right) => {
    let subscribers: Iterable<LiveSubscriber> = [];
    let turn = Promise.resolve();
    return {
      ...right,
      stream: {
        ...right.stream,
        liveBufferBytes: Number.MAX_SAFE_INTEGER,
        recipients: (live) => {
          subscribers = live;
          return live;
        },
      },
      log: {
        ...right.log,
        publish: async ({ store, commit, deliver }) => {
          await store();
          commit();
          turn = turn.then(async () => {
            while ([...subscribers].some(({ waiting }) => waiting > 0)) await setTimeout(20, undefined, { ref: false });
            deliver();
          });
        },
      },
    };
  },
};
