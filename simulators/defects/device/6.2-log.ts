import { type DeviceChanges, defect, variant } from '../define-device.ts';

export const defects = [
  defect('log-with-comments', 'Writes comments between the events in the log.', ['device.log.jsonl'], {
    log: ({ lines }) => ({ lines: (events) => `${lines(events)}# ${events.length} stored\n` }),
  }),
  defect('log-never-compacted', 'Never compacts its log.', ['device.log.bounded'], { log: { keepFrom: () => 0 } }),
  defect('compaction-drops-newest', 'Drops the newest events when it compacts.', ['device.log.compaction'], {
    log: { keepFrom: ({ latest }) => latest + 1 },
  }),
];

/** The size of the retained log is not shown (section 8). */
const retains = (name: string, many: string, change: DeviceChanges['log']) =>
  variant(
    name,
    `Keeps ${many} at most, as no size of the log is shown (section 8).`,
    { log: change ?? {} },
    {
      alternative: 'retention',
    },
  );

export const variants = [
  retains('retains-1', 'one event', { retain: () => 1 }),
  retains('retains-2', 'two events', { retain: () => 2 }),
  retains('retains-6', '6 events', { retain: () => 6 }),
  retains('retains-50', '50 events', { retain: () => 50 }),
  retains('retains-6-untold', '6 events, and its control does not say so,', { retain: () => 6, tellsRetention: false }),
];
