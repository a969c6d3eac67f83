/** After a crash: which of the events that belong to the last change had reached the log? */
import type { EventLog } from '../log/event-log.ts';
import type { DiskIo } from '../log/io.ts';
import type { EventDraft } from '../log/line.ts';
import { LogReader } from '../stream/reader.ts';

/** Those of `events` that are not in the log after id `after`. */
export function notYetPublished(log: EventLog, io: DiskIo, after: number, events: readonly EventDraft[]): EventDraft[] {
  const found = new Set<string>();
  const reader = new LogReader(log, io, Math.max(after, log.earliest - 1));
  try {
    for (let portion = reader.read(); portion !== 'overtaken' && portion.length > 0; portion = reader.read()) {
      for (const { type, json } of portion) found.add(nameOf(type, (JSON.parse(json) as { data: object }).data));
    }
  } finally {
    reader.close();
  }
  return events.filter(({ type, data }) => !found.has(nameOf(type, data)));
}

const nameOf = (type: string, data: object): string => {
  return `${type} ${'deployment_id' in data ? String(data.deployment_id) : JSON.stringify(data)}`;
};
