/**
 * Compaction: the newest events are copied to a file beside the log, made durable, and renamed over the log. A crash before the
 * rename leaves the old log, a crash after it the new one; both are whole.
 */
import { type Generation, gapsWithin, SparseIndex } from './generation.ts';
import type { DiskIo } from './io.ts';
import { parseLine, scanLines } from './line.ts';

/** Name of the copy while a compaction is under way. */
export const compactedName = (name: string): string => `${name}.compact`;

/** Bytes copied at once; other robots' disks get their turn between two portions. */
const COPY_BYTES = 262_144;

export interface Tail {
  io: DiskIo;
  directory: string;
  name: string;
  fd: number;
  generation: Generation;
  /** First event to keep, by id. */
  from: number;
  durable: boolean;
}

/** Copies the newest events beside the log. Resolves when the copy is durable, with undefined when no event would be left out. */
export async function copyTail(tail: Tail): Promise<Generation | undefined> {
  const { io, directory, name, generation, durable } = tail;
  const cut = offsetOf(tail);
  if (cut.offset === 0) return undefined;
  const beside = `${directory}/${compactedName(name)}`;
  const copy = io.open(beside, 'w');
  try {
    await copyBytes(tail, cut.offset, copy);
    if (durable) await io.sync(copy);
  } finally {
    io.close(copy);
  }
  const index = new SparseIndex();
  if (cut.id !== undefined) index.note(cut.id, 0);
  index.takeOver(generation.index, cut.offset);
  return {
    bytes: generation.bytes - cut.offset,
    earliest: cut.id,
    latest: generation.latest,
    gaps: gapsWithin(generation.gaps, cut.id ?? generation.latest),
    index,
  };
}

async function copyBytes({ io, fd, generation }: Tail, from: number, copy: number): Promise<void> {
  const bytes = generation.bytes - from;
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, bytes));
  for (let done = 0; done < bytes; ) {
    const got = await io.load(fd, buffer, 0, Math.min(buffer.length, bytes - done), from + done);
    if (got === 0) throw new Error(`the log is shorter than the ${generation.bytes} bytes that were stored in it`);
    await io.store(copy, buffer.subarray(0, got), done);
    done += got;
  }
}

/** Where the first event at or above `from` starts; the end of the log when there is none. */
function offsetOf({ io, fd, generation, from }: Tail): { id: number | undefined; offset: number } {
  let found: { id: number | undefined; offset: number } = { id: undefined, offset: generation.bytes };
  scanLines(io, fd, generation.index.offsetBefore(from - 1), generation.bytes, (line, offset) => {
    const event = parseLine(line);
    if (!event || event.id < from) return true;
    found = { id: event.id, offset };
    return false;
  });
  return found;
}
