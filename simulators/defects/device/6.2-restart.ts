import { setTimeout } from 'node:timers/promises';
import { defect, onStart } from '../define-device.ts';

export const defects = [
  defect('deployments-forgotten', 'Forgets its deployments at a restart.', ['device.deployment.restart'], {
    deployments: { remembers: 'nothing' },
  }),
  defect('device-id-anew', 'Uses a new device id after each start.', ['device.deployment.restart'], () => {
    let starts = 0;
    return {
      ...onStart(() => {
        starts += 1;
      }),
      http: { deploymentBody: (deployment) => ({ ...deployment, device_id: `dvc_${starts}` }) },
    };
  }),
  defect(
    'stored-after-delivery',
    'Delivers events at once, and writes them to the log a little later.',
    ['device.log.crash', 'device.events.replay.seam'],
    {
      log: {
        publish: async ({ store, commit, deliver }) => {
          deliver();
          await setTimeout(40);
          await store();
          commit();
        },
      },
    },
  ),
  defect('ids-restart-at-one', 'Counts ids from 1 again after a restart.', ['device.log.restart'], {
    log: { highest: () => 0 },
  }),
  defect('ids-reused-after-restart', 'Gives out the last id again after a restart.', ['device.log.restart'], {
    log: { highest: (last) => Math.max(0, last - 1) },
  }),
  defect('log-emptied-at-restart', 'Begins with an empty log at each start.', ['device.log.restart'], {
    log: { opening: () => 'empty' },
  }),
  defect('restart-loads-few', 'Loads only the newest hundred events at a start.', ['device.log.restart'], () => {
    let loaded = 0;
    return {
      ...onStart((last) => {
        loaded = last - 100;
      }),
      stream: { session: () => ({ replay: (events) => events.filter(({ id }) => id > loaded) }) },
    };
  }),
  defect(
    'ids-counted-from-the-log',
    'Counts ids on from the last event in the log, which a compaction may have left empty.',
    ['device.log.restart'],
    { log: { highest: (last) => last, keepFrom: ({ latest }) => latest + 1 } },
  ),
  defect('torn-line-glued', 'Writes the next event behind a torn line, on the same line.', ['device.log.torn-tail'], {
    log: {
      opening: () => 'keep',
      // Adds a space, so that the line gets no checksum and the agent cannot find an event behind a torn line.
      lines: (events) => events.map(({ json }) => `${json} \n`).join(''),
    },
  }),
  defect(
    'torn-line-empties-log',
    'Discards a log that ends in a torn line, and begins an empty one.',
    ['device.log.torn-tail'],
    { log: { opening: (torn) => (torn ? 'empty' : 'repair') } },
  ),
];
