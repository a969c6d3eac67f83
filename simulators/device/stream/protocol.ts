/** Parameters (section 4.1 of the specification) and frames (section 6.1) of the event stream. */
import type { StoredEvent } from '../log/line.ts';

/** Pattern of an event id; `LARGEST` is the largest signed 64-bit integer. */
const DIGITS = /^(0|[1-9]\d{0,18})$/;
const LARGEST = 2n ** 63n - 1n;

/**
 * Parses an event id; undefined for any other text. An unsafe integer becomes the largest safe integer, which exceeds
 * every assigned id.
 */
export function parseCursor(text: string): number | undefined {
  if (!DIGITS.test(text) || BigInt(text) > LARGEST) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export interface CursorRequest {
  after: readonly string[];
  lastEventId: string | undefined;
}

/** Chooses the cursor of a request; the parameter `after` overrides the header `Last-Event-ID`. */
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
 * Returns the id after which the stream begins; `expired` causes a 410 response. A cursor beyond the newest event, e.g.
 * from a different robot, receives only live events.
 */
export function resolveCursor(cursor: number | 'none', { earliest, latest }: Retained): number | 'expired' {
  if (cursor === 'none') return latest;
  if (cursor < earliest - 1) return 'expired';
  return Math.min(cursor, latest);
}

export type TypeFilter = ReadonlySet<string> | undefined;

/** Parses the comma-separated values of `types`; an empty list matches no event type. */
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
