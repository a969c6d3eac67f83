/** Finds the events, the torn end and the next id of a log, whatever a stop, a crash or a user has left of it. */
import type { LogBehaviour } from '../behaviour.ts';
import { type Generation, gapsWithin, INDEX_SPACING, NO_GAPS, SparseIndex } from './generation.ts';
import type { DiskIo } from './io.ts';
import { readLine } from './line.ts';
import type { Mark } from './mark.ts';
import { scanEvents } from './scan.ts';

export interface Recovered {
  generation: Generation;
  /** The last event is whole except for its line break. */
  unended: boolean;
  /** Damage that was found, for the robot's own log. */
  notices: string[];
}

const PROBE_BYTES = 1_024;

/** Reads a part of the file at each index entry, and its end; changes nothing. */
export function recover(io: DiskIo, fd: number, mark: Mark | undefined, behaviour: LogBehaviour): Recovered {
  const size = io.size(fd);
  const notices: string[] = [];
  const { index, earliest: probed, last, offset } = probe(io, fd, size);
  const tail = readTail(io, fd, offset, size, last);
  const earliest = probed ?? (tail.unended ? tail.id : undefined);
  if (tail.damaged > 0) notices.push(`${tail.damaged} unreadable lines at the end of the log are skipped`);
  if (tail.end < size) notices.push(`the log ends with ${size - tail.end} bytes of a torn line`);
  const latest = behaviour.highest(tail.id, mark, notices.length > 0);
  if (latest > tail.id) {
    notices.push(`ids up to ${latest} may have been given out, the log ends with ${tail.id}; the rest stays unused`);
  }
  const before = earliest === undefined ? NO_GAPS : gapsWithin(mark?.gaps ?? NO_GAPS, earliest, tail.id);
  const gaps = earliest !== undefined && latest > tail.id ? [...before, { after: tail.id, through: latest }] : before;
  return { generation: { bytes: tail.end, earliest, latest, gaps, index }, unended: tail.unended, notices };
}

/** The first event of every stretch of 64 KiB. */
function probe(io: DiskIo, fd: number, size: number) {
  const found = { index: new SparseIndex(), earliest: undefined as number | undefined, last: 0, offset: 0 };
  for (let from = 0; from < size; from += INDEX_SPACING) {
    // The very first event is looked for as far as it takes: it says where the log begins.
    const to = from === 0 ? size : Math.min(size, from + 2 * INDEX_SPACING);
    scanEvents({ io, fd, from, to, after: found.last, window: PROBE_BYTES }, ({ id }, at) => {
      found.earliest ??= id;
      found.index.note(id, at);
      found.last = id;
      found.offset = at;
      return false;
    });
  }
  return found;
}

function readTail(io: DiskIo, fd: number, from: number, size: number, known: number) {
  let id = known;
  let damaged = 0;
  const bad = () => {
    damaged += 1;
  };
  // The event at `from` is the one that is known already.
  const end = scanEvents(
    { io, fd, from, to: size, after: known === 0 ? 0 : known - 1, onDamage: bad, onDisorder: bad },
    (event) => {
      id = event.id;
    },
  );
  const rest = Buffer.alloc(size - end);
  if (rest.length > 0) io.read(fd, rest, 0, rest.length, end);
  const event = readLine(rest, 0, rest.length);
  return event && event.id > id
    ? { id: event.id, end: size, damaged, unended: true }
    : { id, end, damaged, unended: false };
}
