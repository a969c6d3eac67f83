/** Protocol of the event stream: parameters of a client (specification section 4.1), and frames (section 6.1). */
import type { StoredEvent } from '../log/line.ts';

/** Event id: decimal digits of a signed 64-bit integer. */
const DIGITS = /^(0|[1-9]\d{0,18})$/;
const LARGEST = 2n ** 63n - 1n;

/**
 * Cursor in `text`; undefined for a text that is no event id. Takes ids beyond the safe integers, which no robot
 * assigns, as the largest one.
 */
export function parseCursor(text: string): number | undefined {
  if (!DIGITS.test(text) || BigInt(text) > LARGEST) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export interface CursorRequest {
  /** Values of the query parameter `after`, which a client may repeat. */
  after: readonly string[];
  lastEventId: string | undefined;
}

/** Prefers `after` to the header, which is then ignored. */
export function chooseCursor({ after, lastEventId }: CursorRequest): number | 'none' | 'malformed' {
  const [first, ...others] = after;
  const text = first ?? lastEventId;
  if (text === undefined) return 'none';
  if (others.some((other) => other !== first)) return 'malformed';
  return parseCursor(text) ?? 'malformed';
}

export interface Retained {
  /** Id of the first retained event, or the next id of an empty log. */
  earliest: number;
  latest: number;
}

/**
 * Id before the first event to send; `expired` becomes a 410.
 * - No cursor: live events only.
 * - `earliest - 1` is served, because no event after it is lost. So is 0 on a log without a compaction.
 * - A cursor beyond the newest event, from another robot or from before a reset, receives all live events: those up to
 *   the cursor would otherwise be lost.
 */
export function resolveCursor(cursor: number | 'none', { earliest, latest }: Retained): number | 'expired' {
  if (cursor === 'none') return latest;
  if (cursor < earliest - 1) return 'expired';
  return Math.min(cursor, latest);
}

export type TypeFilter = ReadonlySet<string> | undefined;

/** Filter in the comma-separated values of `types`, which a client may repeat. An empty list matches no type. */
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
