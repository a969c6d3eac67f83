/** Cursors of the event stream (specification section 4.1): what a client asks for, and what it gets. */

/** An event id: decimal digits of a signed 64-bit integer, nothing else. */
const DIGITS = /^(0|[1-9]\d{0,18})$/;
const LARGEST = 2n ** 63n - 1n;

/** The cursor in `text`, or undefined when it is no event id. Ids beyond any that this robot can give out are one number. */
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

/** `after` takes precedence over the header (section 4.1); the one that does not count is not even looked at. */
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
  /** Highest id given out so far. */
  latest: number;
}

/**
 * Events after which id are sent; `expired` is answered with 410.
 *
 * - No cursor: live events only.
 * - `earliest - 1` is served, because nothing after it is lost. So is 0 as long as the log was never compacted.
 * - A cursor beyond the newest event (another robot's, or from before this one was set up anew) gets live events from now on,
 *   all of them: holding back those up to the cursor would lose them.
 */
export function resolveCursor(cursor: number | 'none', { earliest, latest }: Retained): number | 'expired' {
  if (cursor === 'none') return latest;
  if (cursor < earliest - 1) return 'expired';
  return Math.min(cursor, latest);
}
