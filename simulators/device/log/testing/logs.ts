/** Logs on a real disk, as the tests of this folder use them. */
import { systemClock } from '../../../common/clock.ts';
import { referenceBehaviour } from '../../behaviour.ts';
import { LogReader } from '../../stream/reader.ts';
import { EventLog, type EventLogOptions } from '../event-log.ts';
import { disk } from '../io.ts';

/** Drafts with `size` bytes of text. */
export const drafts = (count: number, size = 10) =>
  Array.from({ length: count }, () => ({ type: 'deployment.deployed', data: { text: 'x'.repeat(size) } }));

/** A log in `directory`, what it delivered, and its notices. */
export function open(directory: string, options: Partial<EventLogOptions> = {}) {
  const stored: number[] = [];
  const notices: string[] = [];
  const log = new EventLog({
    directory,
    retain: 1_000_000,
    retainBytes: Number.MAX_SAFE_INTEGER,
    durable: false,
    io: disk,
    clock: systemClock,
    behaviour: referenceBehaviour,
    onStored: (events) => stored.push(...events.map(({ id }) => id)),
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  return { log, stored, notices };
}

/** Ids that a reader finds after `after`. */
export function idsIn(log: EventLog, after = 0): number[] {
  const reader = new LogReader(log, disk, after);
  const ids: number[] = [];
  for (let portion = reader.read(); portion.length > 0; portion = reader.read()) {
    if (portion === 'overtaken') throw new Error('overtaken');
    ids.push(...portion.map(({ id }) => id));
  }
  reader.close();
  return ids;
}

/** The integers from `from` to `to`. */
export const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
