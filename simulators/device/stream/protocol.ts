/** Protocol of the event stream: parameters of a client (specification section 4.1), and frames (section 6.1). */
import type { StoredEvent } from '../log/line.ts';

/** An event id: decimal digits of a signed 64-bit integer, nothing else. */
const DIGITS = /^(0|[1-9]\d{0,18})$/;
const LARGEST = 2n ** 63n - 1n;

/**
 * Cursor in `text`; undefined if it is no event id. Ids beyond the safe integers, which no robot assigns, become one
 * number.
 */
export function parseCursor(text: string): number | undefined {
  if (!DIGITS.test(text) || BigInt(text) > LARGEST) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export interface CursorRequest {
  /** Values of the query parameter `after`; several if a client repeats it. */
  after: readonly string[];
  lastEventId: string | undefined;
}

/** Chooses the cursor. `after` takes precedence over the header, which is then ignored. */
export function chooseCursor({ after, lastEventId }: CursorRequest): number | 'none' | 'malformed' {
  const [first, ...others] = after;
  const text = first ?? lastEventId;
  if (text === undefined) return 'none';
  if (others.some((other) => other !== first)) return 'malformed';
  return parseCursor(text) ?? 'malformed';
}

export interface Retained {
  /** First retained event; the next id if there is none. */
  earliest: number;
  latest: number;
}

/**
 * Id after which events are sent; `expired` becomes a 410.
 * - No cursor: live events only.
 * - `earliest - 1` is served, because nothing after it is lost. So is 0 if the log was never compacted.
 * - A cursor beyond the newest event (of another robot, or from before this one was reset) receives all live events
 * from now on: holding back events up to the cursor would lose them.
 */
export function resolveCursor(cursor: number | 'none', { earliest, latest }: Retained): number | 'expired' {
  if (cursor === 'none') return latest;
  if (cursor < earliest - 1) return 'expired';
  return Math.min(cursor, latest);
}

export type TypeFilter = ReadonlySet<string> | undefined;

/** Filter in the values of `types`: comma-separated, and repeated parameters add up. An empty list matches no type. */
export function parseTypes(values: readonly string[]): TypeFilter {
  if (values.length === 0) return undefined;
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  return new Set(names.filter((name) => name !== ''));
}

export const wants = (filter: TypeFilter, type: string): boolean => filter === undefined || filter.has(type);

export const frame = ({ id, type, json }: StoredEvent): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;

export const HEARTBEAT = ': heartbeat\n\n';

const CRLF = Buffer.from('\r\n');
export const LAST_CHUNK = Buffer.from('0\r\n\r\n');

export function chunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, CRLF]);
}
