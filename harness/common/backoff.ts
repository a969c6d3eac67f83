/** How long to wait before another attempt: a delay that doubles with each failure. */

/** The limits of a back-off. */
export interface Backoff {
  /** Delay before attempt 0, milliseconds. */
  firstMs: number;
  /** Upper limit of every delay, milliseconds, jitter included. */
  longestMs: number;
  /** Share by which a delay may differ in either direction, so that many clients spread. Default 0; needs `random`. */
  jitter?: number;
}

/** 2^40 times a millisecond are 35 years; larger powers would only overflow. */
const LARGEST_EXPONENT = 40;

/** Milliseconds before attempt number `attempt` (from 0). `random` is uniform in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random?: () => number): number {
  const { firstMs, longestMs, jitter = 0 } = backoff;
  const delay = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, LARGEST_EXPONENT));
  return random === undefined ? delay : Math.min(longestMs, delay * (1 - jitter + random() * 2 * jitter));
}
