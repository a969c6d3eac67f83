/** Reads a log line by line through one buffer that the whole process shares. */
import type { DiskIo } from './io.ts';

const NEWLINE = 10;
let shared: Buffer | undefined;

/**
 * Calls `visit` with every whole line (its text without the line break, the offset where it starts) that begins in
 * [`from`, `to`) and ends before `to`, until `visit` returns false. Returns the offset after the last line visited.
 * `visit` must not scan.
 */
export function scanLines(
  io: DiskIo,
  fd: number,
  from: number,
  to: number,
  visit: (line: string, offset: number) => unknown,
  window = 65_536,
): number {
  let buffer = shared ?? Buffer.allocUnsafe(65_536);
  shared = buffer;
  let offset = from;
  let size = Math.min(window, buffer.length);
  while (offset < to) {
    const got = io.read(fd, buffer, 0, Math.min(size, to - offset), offset);
    let start = 0;
    for (;;) {
      const end = buffer.indexOf(NEWLINE, start);
      if (end < 0 || end >= got) break;
      const goOn = visit(buffer.toString('utf8', start, end), offset + start);
      start = end + 1;
      if (goOn === false) return offset + start;
    }
    offset += start;
    if (start > 0) continue;
    if (got < size) return offset;
    // A line longer than the buffer: a larger one for this scan only.
    size *= 2;
    if (size > buffer.length) buffer = Buffer.allocUnsafe(size);
  }
  return offset;
}
