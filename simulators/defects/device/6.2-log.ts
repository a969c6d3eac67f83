import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { StoredEvent } from '../../device/log/line.ts';
import { type DeviceChanges, defect, onStart, variant } from '../define-device.ts';

const TORN_TAIL = ['device.log.torn-tail'];
const SIZE = 'as no size of the log is shown (section 8)';

const retains = (name: string, summary: string, change: DeviceChanges['log'] = {}) =>
  variant(name, summary, { log: change }, { alternative: 'retention' });

export const defects = [
  defect('log-with-comments', 'Writes comments between the events in the log.', ['device.log.jsonl'], {
    log: ({ lines }) => ({ lines: (events) => `${lines(events)}# ${events.length} stored\n` }),
  }),
  defect('log-never-compacted', 'Never compacts its log.', ['device.log.bounded'], { log: { keepFrom: () => 0 } }),
  defect('compaction-drops-newest', 'Drops the newest events when it compacts.', ['device.log.compaction'], {
    log: { keepFrom: ({ latest }) => latest + 1 },
  }),
  defect(
    'compaction-loses-live',
    'Loses a live event that is published while the log is compacted.',
    ['device.log.compaction'],
    () => {
      let compacted = false;
      const lossy = (events: readonly StoredEvent[]): readonly StoredEvent[] => {
        if (!compacted || events.length < 2) return events;
        compacted = false;
        return events.toSpliced(-2, 1);
      };
      return {
        log: ({ keepFrom }) => ({
          keepFrom: (plan) => {
            compacted = true;
            return keepFrom(plan);
          },
        }),
        stream: { session: () => ({ live: lossy }) },
      };
    },
  ),
  defect('deployments-forgotten', 'Forgets its deployments at a restart.', ['device.deployment.restart'], {
    deployments: { remembers: 'nothing' },
  }),
  defect('device-id-anew', 'Uses a new device id after each start.', ['device.deployment.restart'], () => {
    let device_id = '';
    return {
      log: onStart(() => (device_id = `dvc_${randomBytes(6).toString('hex')}`)),
      http: { deploymentBody: (deployment) => ({ ...deployment, device_id }) },
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
      log: onStart((last) => (loaded = last - 100)),
      stream: { session: () => ({ replay: (events) => events.filter(({ id }) => id > loaded) }) },
    };
  }),
  defect(
    'ids-counted-from-the-log',
    'Counts ids on from the last event in the log, which a compaction may have left empty.',
    ['device.log.restart'],
    { log: { highest: (last) => last, keepFrom: ({ latest }) => latest + 1 } },
  ),
  defect('torn-line-glued', 'Writes the next event behind a torn line, on the same line.', TORN_TAIL, {
    log: {
      opening: () => 'keep',
      // Adds a space, so that the line gets no checksum and the agent cannot find an event behind a torn line.
      lines: (events) => events.map(({ json }) => `${json} \n`).join(''),
    },
  }),
  defect('torn-line-empties-log', 'Discards a log that ends in a torn line, and begins an empty one.', TORN_TAIL, {
    log: { opening: (torn) => (torn ? 'empty' : 'repair') },
  }),
];

export const variants = [
  retains('retains-1', `Keeps one event at most, ${SIZE}.`, { retain: () => 1 }),
  retains('retains-2', `Keeps two events at most, ${SIZE}.`, { retain: () => 2 }),
  retains('retains-6', `Keeps 6 events at most, ${SIZE}.`, { retain: () => 6 }),
  retains('retains-50', `Keeps 50 events at most, ${SIZE}.`, { retain: () => 50 }),
  retains('retains-6-untold', `Keeps 6 events at most, ${SIZE}, and its control does not say so.`, {
    retain: () => 6,
    tellsRetention: false,
  }),
  retains('drops-one-by-one', `Keeps 50 events, ${SIZE}, and drops the oldest with each new one.`, {
    retain: () => 50,
    keepFrom: ({ latest, step }) => latest - 49 * step,
  }),
];
