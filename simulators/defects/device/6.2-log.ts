import { defect } from '../define-device.ts';

export const defects = [
  defect('log-with-comments', 'Writes comments between the events in the log.', ['device.log.jsonl'], {
    log: ({ lines }) => ({ lines: (events) => `${lines(events)}# ${events.length} stored\n` }),
  }),
  defect('log-never-compacted', 'Never compacts its log.', ['device.log.bounded'], { log: { keepFrom: () => 0 } }),
  defect('compaction-drops-newest', 'Drops the newest events when it compacts.', ['device.log.compaction'], {
    log: { keepFrom: ({ latest }) => latest + 1 },
  }),
];
