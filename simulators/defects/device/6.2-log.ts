import type { StoredEvent } from '../../device/log/line.ts';
import { type DeviceChanges, defect, variant } from '../define-device.ts';

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
];

const SIZE = 'as no size of the log is shown (section 8)';

const retains = (name: string, summary: string, change: DeviceChanges['log'] = {}) =>
  variant(name, summary, { log: change }, { alternative: 'retention' });

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
