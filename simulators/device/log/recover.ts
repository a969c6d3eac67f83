/** Opens whatever a stop, a crash or a hand has left of a log: repairs the tail, builds the index, finds the next id. */

import { type Generation, INDEX_SPACING, SparseIndex } from './generation.ts';
import type { DiskIo } from './io.ts';
import { parseLine } from './line.ts';
import type { Mark } from './mark.ts';
import { scanLines } from './scan.ts';

export interface Recovered {
  generation: Generation;
  /** Bytes after the last whole event, to be cut off. */
  torn: number;
  /** The last event is whole but its line break is missing. */
  unended: boolean;
  damage: string[];
}

/** Reads a window at every index entry and the end of the file, never the whole of it. */
export function recover(io: DiskIo, fd: number, mark: Mark | undefined): Recovered {
  const size = io.size(fd);
  const index = new SparseIndex();
  const damage: string[] = [];
  let earliest: number | undefined;
  let lastId = 0;
  let lastOffset = 0;
  const probe = (offset: number): void => {
    let first = offset > 0; // what a window starts with is the end of some line
    scanLines(
      io,
      fd,
      offset,
      size,
      (line, at) => {
        if (first) {
          first = false;
          return true;
        }
        const event = parseLine(line);
        if (!event || event.id <= lastId) return at < offset + INDEX_SPACING;
        earliest ??= event.id;
        index.note(event.id, at);
        lastId = event.id;
        lastOffset = at;
        return false;
      },
      1_024,
    );
  };
  for (let offset = 0; offset < size; offset += INDEX_SPACING) probe(offset);
  const tail = readTail(io, fd, lastOffset, size, lastId);
  if (tail.damaged > 0) damage.push(`${tail.damaged} unreadable lines near the end of the log are skipped`);
  const bytes = tail.unended ? size : tail.end;
  if (bytes < size) damage.push(`${size - bytes} bytes of a torn line are cut off the end of the log`);
  const latest = Math.max(tail.id, highestGivenOut(tail.id, mark, damage));
  return {
    generation: { bytes, earliest, latest, index },
    torn: size - bytes,
    unended: tail.unended,
    damage,
  };
}

function readTail(io: DiskIo, fd: number, from: number, size: number, known: number) {
  let id = known;
  let damaged = 0;
  const end = scanLines(io, fd, from, size, (line) => {
    const event = parseLine(line);
    if (event && event.id >= id) id = event.id;
    else damaged += 1;
  });
  const rest = Buffer.alloc(size - end);
  if (rest.length > 0) io.read(fd, rest, 0, rest.length, end);
  const event = rest.length > 0 ? parseLine(rest.toString('utf8')) : undefined;
  const unended = event !== undefined && event.id > id;
  return { id: unended ? event.id : id, end, damaged, unended };
}

/**
 * After a clean stop the mark is exact. After a crash an undamaged log that reaches into the reserved block is all there
 * ever was, because an event is stored before anyone sees it; otherwise events that clients saw may be missing, and the
 * whole block is given up.
 */
function highestGivenOut(last: number, mark: Mark | undefined, damage: string[]): number {
  if (!mark || mark.highest <= last) return last;
  if (!mark.clean && last > 0 && last >= mark.from && damage.length === 0) return last;
  damage.push(`events up to ${mark.highest} may have been given out, the log ends at ${last}; their ids stay unused`);
  return mark.highest;
}
