import type { LogBehaviour } from '../behaviour.ts';
import { type Generation, gapsWithin, INDEX_SPACING, NO_GAPS, SparseIndex } from './generation.ts';
import type { Mark } from './high-water-mark.ts';
import type { DiskIo } from './io.ts';
import { readLine, type StoredEvent } from './line.ts';

export interface Scan {
  io: DiskIo;
  fd: number;
  /** Offsets between which the scan reads; a line that ends beyond `to` is ignored. */
  from: number;
  to: number;
  after: number;
  window?: number;
  onDamage?(offset: number, bytes: number): void;
  /** Runs for an id that does not ascend, e.g. a duplicate or a damaged id. */
  onDisorder?(offset: number, bytes: number): void;
}

interface Found {
  event: StoredEvent;
  offset: number;
  bytes: number;
}

/**
 * Visits events in ascending order of ids until `visit` returns false; returns the offset at which the next scan
 * continues. Drops an unsealed event if the next event has a lower id.
 */
export function scanEvents(scan: Scan, visit: (event: StoredEvent, offset: number) => unknown): number {
  let last = scan.after;
  let held: Found | undefined;
  let stop: number | undefined;
  const deliver = ({ event, offset }: Found, next: number): boolean => {
    last = event.id;
    if (visit(event, offset) !== false) return true;
    stop = next;
    return false;
  };
  const end = scanLines(scan, (bytes, start, until, offset) => {
    const length = until - start;
    const event = readLine(bytes, start, until);
    if (event === undefined) {
      scan.onDamage?.(offset, length);
      return true;
    }
    if (event.id <= last || event.id === held?.event.id) {
      scan.onDisorder?.(offset, length);
      return true;
    }
    const before = held;
    held = undefined;
    if (before && before.event.id > event.id) scan.onDisorder?.(before.offset, before.bytes);
    else if (before && !deliver(before, offset)) return false;
    const found = { event, offset, bytes: length };
    if (!event.unsealed) return deliver(found, offset + length + 1);
    held = found;
    return true;
  });
  if (held && stop === undefined) deliver(held, end);
  return stop ?? end;
}

const NEWLINE = 10;
const BUFFER_BYTES = 65_536;
let shared: Buffer | undefined;

type LineVisitor = (bytes: Buffer, start: number, end: number, offset: number) => boolean;

/** `visit` must not scan, because scans share a buffer. */
function scanLines({ io, fd, from, to, window = BUFFER_BYTES }: Scan, visit: LineVisitor): number {
  let buffer = shared ?? Buffer.allocUnsafe(BUFFER_BYTES);
  shared = buffer;
  let offset = from;
  let size = Math.min(window, buffer.length);
  while (offset < to) {
    const got = io.read(fd, buffer, 0, Math.min(size, to - offset), offset);
    let start = 0;
    for (;;) {
      const end = buffer.indexOf(NEWLINE, start);
      if (end < 0 || end >= got) break;
      const goOn = visit(buffer, start, end, offset + start);
      start = end + 1;
      if (!goOn) return offset + start;
    }
    offset += start;
    if (start > 0) continue;
    if (got < size) return offset;
    size *= 2;
    if (size > buffer.length) buffer = Buffer.allocUnsafe(size);
  }
  return offset;
}

/**
 * Restores the state of a log file; reads only parts of a long, undamaged file. `unended`: the last event lacks its
 * line break.
 */
export function recover(io: DiskIo, fd: number, mark: Mark | undefined, behaviour: LogBehaviour) {
  const size = io.size(fd);
  const notices: string[] = [];
  const { index, earliest: probed, last, offset } = probe(io, fd, size);
  const tail = readTail(io, fd, offset, size, last);
  const earliest = probed ?? (tail.unended ? tail.id : undefined);
  if (tail.damaged > 0) notices.push(`${tail.damaged} unreadable lines at the end of the log are skipped`);
  if (tail.end < size) notices.push(`the log ends with ${size - tail.end} bytes of a torn line`);
  const latest = behaviour.highest(tail.id, mark, notices.length > 0);
  if (latest > tail.id)
    notices.push(`ids up to ${latest} may have been given out, the log ends with ${tail.id}; the rest stays unused`);
  const before = earliest === undefined ? NO_GAPS : gapsWithin(mark?.gaps ?? NO_GAPS, earliest, tail.id);
  const gaps = earliest !== undefined && latest > tail.id ? [...before, { after: tail.id, through: latest }] : before;
  const generation: Generation = { bytes: tail.end, earliest, latest, gaps, index };
  return { generation, unended: tail.unended, notices };
}

function probe(io: DiskIo, fd: number, size: number) {
  const found = { index: new SparseIndex(), earliest: undefined as number | undefined, last: 0, offset: 0 };
  for (let from = 0; from < size; from += INDEX_SPACING) {
    // Searches the whole file for the first event, even after much damage.
    const to = from === 0 ? size : Math.min(size, from + 2 * INDEX_SPACING);
    scanEvents({ io, fd, from, to, after: found.last, window: 1_024 }, ({ id }, at) => {
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
  const bad = () => void damaged++;
  const scan = { io, fd, from, to: size, after: Math.max(0, known - 1), onDamage: bad, onDisorder: bad };
  const end = scanEvents(scan, (event) => {
    id = event.id;
  });
  const rest = Buffer.alloc(size - end);
  if (rest.length > 0) io.read(fd, rest, 0, rest.length, end);
  const event = readLine(rest, 0, rest.length);
  return event && event.id > id
    ? { id: event.id, end: size, damaged, unended: true }
    : { id, end, damaged, unended: false };
}
