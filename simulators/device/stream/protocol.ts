/**
 * The event stream's protocol: what a client asks for (specification section 4.1), and frames as they travel (section
 * 6.1).
 */
import type { StoredEvent } from '../log/line.ts';

/** An event id: decimal digits of a signed 64-bit integer, nothing else. */
const DIGITS = /^(0|[1-9]\d{0,18})$/;
const LARGEST = 2n ** 63n - 1n;

/**
 * The cursor in `text`, or undefined when it is no event id. Ids larger than this robot can ever assign become one
 * number.
 */
export function parseCursor(text: string): number | undefined {
  if (!DIGITS.test(text) || BigInt(text) > LARGEST) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export interface CursorRequest {
  /** Values of the query parameter `after`; several when a client repeats it. */
  after: readonly string[];
  /** Value of the header `Last-Event-ID`. */
  lastEventId: string | undefined;
}

/** The cursor that counts. `after` takes precedence over the header, which is then not even read. */
export function chooseCursor({ after, lastEventId }: CursorRequest): number | 'none' | 'malformed' {
  const [first, ...others] = after;
  const text = first ?? lastEventId;
  if (text === undefined) return 'none';
  if (others.some((other) => other !== first)) return 'malformed';
  return parseCursor(text) ?? 'malformed';
}

/** What the log holds when a client asks. */
export interface Retained {
  /** First retained event; the next id when there is none. */
  earliest: number;
  /** Highest id assigned so far. */
  latest: number;
}

/**
 * The id after which events are sent; `expired` is answered with 410.
 *
 * - No cursor: live events only.
 * - `earliest - 1` is served, because nothing after it is lost. So is 0 as long as the log was never compacted.
 * - A cursor beyond the newest event (of another robot, or from before this one was set up again) gets all live events
 * from
 *   now on: holding back those up to the cursor would lose them.
 */
export function resolveCursor(cursor: number | 'none', { earliest, latest }: Retained): number | 'expired' {
  if (cursor === 'none') return latest;
  if (cursor < earliest - 1) return 'expired';
  return Math.min(cursor, latest);
}

/** The event types a client wants; undefined means all. */
export type TypeFilter = ReadonlySet<string> | undefined;

/**
 * The filter in the values of `types`: comma-separated, and a repeated parameter adds to the list. An empty list
 * matches no type.
 */
export function parseTypes(values: readonly string[]): TypeFilter {
  if (values.length === 0) return undefined;
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  return new Set(names.filter((name) => name !== ''));
}

/** Whether events of this type pass the filter. */
export const wants = (filter: TypeFilter, type: string): boolean => filter === undefined || filter.has(type);

/** An event as a server-sent event frame. */
export const frame = ({ id, type, json }: StoredEvent): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;

export const HEARTBEAT = ': heartbeat\n\n';

const CRLF = Buffer.from('\r\n');
/** Ends a chunked body. */
export const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** `body` as one HTTP/1.1 chunk. */
export function chunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, CRLF]);
}
