/**
 * Compaction: the newest events are copied to a new file, made durable, and renamed over the log. A crash before the rename leaves
 * the old log, a crash after it the new one; both are whole.
 */
import { type Generation, gapsWithin, SparseIndex } from './generation.ts';
import type { DiskIo } from './io.ts';
import { scanEvents } from './scan.ts';

/** Bytes copied at once; other robots' disks get their turn between two portions. */
const COPY_BYTES = 262_144;

export interface OpenLog {
  io: DiskIo;
  fd: number;
  generation: Generation;
}

/** Where a compaction cuts: the first event to keep, and its offset. */
export interface Cut {
  id: number | undefined;
  offset: number;
}

/** The first event at or above `from`, and where it starts; the end of the log when there is none. */
export function cutAt({ io, fd, generation }: OpenLog, from: number): Cut {
  let cut: Cut = { id: undefined, offset: generation.bytes };
  const start = generation.index.offsetBefore(from - 1);
  scanEvents({ io, fd, from: start, to: generation.bytes, after: from - 1 }, ({ id }, offset) => {
    cut = { id, offset };
    return false;
  });
  return cut;
}

/** The log from `cut` on. */
export function generationFrom(old: Generation, cut: Cut): Generation {
  const index = new SparseIndex();
  if (cut.id !== undefined) index.note(cut.id, 0);
  index.takeOver(old.index, cut.offset);
  return {
    bytes: old.bytes - cut.offset,
    earliest: cut.id,
    latest: old.latest,
    gaps: gapsWithin(old.gaps, cut.id ?? old.latest),
    index,
  };
}

/** Copies the stored bytes from `from` on to the file `copy`. */
export async function copyBytes({ io, fd, generation }: OpenLog, from: number, copy: number): Promise<void> {
  const bytes = generation.bytes - from;
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, bytes));
  for (let done = 0; done < bytes; ) {
    const got = await io.load(fd, buffer, 0, Math.min(buffer.length, bytes - done), from + done);
    if (got === 0) throw new Error(`the log is shorter than the ${generation.bytes} bytes that were stored in it`);
    await io.store(copy, buffer.subarray(0, got), done);
    done += got;
  }
}
