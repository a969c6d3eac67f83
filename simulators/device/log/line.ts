/** The stored form of an event: its JSON envelope (specification section 2.3) on one line, keys in a fixed order. */
import type { DiskIo } from './io.ts';

/** An event that has no id yet. */
export interface EventDraft {
  type: string;
  data: object;
}

/** An event as the log stores it. */
export interface StoredEvent {
  readonly id: number;
  readonly type: string;
  /** The envelope as JSON, without a line break. */
  readonly json: string;
}

const HEAD = '{"object":"event","id":';
const PLAIN_TYPE = /^[\w.-]+$/;

/** The stored form of a new event. */
export function eventLine(id: number, type: string, occurredAt: string, data: object): StoredEvent {
  const json = `${HEAD}${id},"type":${JSON.stringify(type)},"occurred_at":${JSON.stringify(occurredAt)},"data":${JSON.stringify(data)}}`;
  return { id, type, json };
}

/**
 * The event in a line of the log; undefined when it is not a whole event. Lines that this module wrote are recognised by their
 * form and not parsed. Any other line is parsed in full; it may be a torn one with the next one appended to it.
 */
export function parseLine(line: string): StoredEvent | undefined {
  const comma = line.startsWith(HEAD) ? line.indexOf(',', HEAD.length) : -1;
  if (comma > 0 && line.startsWith('"type":"', comma + 1) && line.endsWith('}}')) {
    const id = Number(line.slice(HEAD.length, comma));
    const quote = line.indexOf('"', comma + 9);
    const type = line.slice(comma + 9, quote);
    const single = line.indexOf(HEAD, HEAD.length) < 0 && !line.includes('\0');
    if (single && Number.isSafeInteger(id) && PLAIN_TYPE.test(type) && line.startsWith(',"occurred_at":"', quote + 1)) {
      return { id, type, json: line };
    }
  }
  return parseForeign(line);
}

function parseForeign(line: string): StoredEvent | undefined {
  try {
    const { id, type, data } = JSON.parse(line) as Record<string, unknown>;
    const whole = Number.isSafeInteger(id) && typeof type === 'string' && typeof data === 'object';
    return whole ? { id: id as number, type, json: line } : undefined;
  } catch {
    return undefined;
  }
}

const NEWLINE = 10;
let shared: Buffer | undefined;

/**
 * Calls `visit` for every whole line between the offsets `from` and `to`, with its text (without the line break) and its offset,
 * until `visit` returns false. Returns the offset after the last visited line. `visit` must not call `scanLines`: the process has
 * one buffer for all scans.
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
    // The line is longer than the buffer, so this scan gets a larger one.
    size *= 2;
    if (size > buffer.length) buffer = Buffer.allocUnsafe(size);
  }
  return offset;
}
