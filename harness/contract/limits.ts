/**
 * Bounds of lists and pings of the Platform API (section 8 of the specification). Imports no schema library, to load
 * fast.
 */

/** The specification states no minimum `limit`; 1 is the smallest useful value. */
export const LIST_LIMITS = {
  limitDefault: 10,
  limitMaximum: 100,
  limitMinimum: 1,
  offsetDefault: 0,
  offsetMinimum: 0,
} as const;

export const PING_TIMEOUT_MAXIMUM_NANOS = 10_000_000_000;
