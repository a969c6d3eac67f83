/** How long an answer asks its client to wait. */

/** What is read of an answer's headers, their names in lower case. */
export interface RetryHeaders {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}

/**
 * Milliseconds that `Retry-After` names: seconds, or a date, which is compared with the server's own clock if it sends one (RFC 9110
 * section 10.2.3). Undefined when it names nothing; below 0 for a date that is over.
 */
export function retryAfterMs({ 'retry-after': asked = '', date = '' }: RetryHeaders): number | undefined {
  if (/^\s*\d+(\.\d+)?\s*$/.test(asked)) return Number(asked) * 1000;
  // Some engines take a bare number for a year.
  if (!/^\s*[a-z]{3,}/i.test(asked)) return undefined;
  const named = Date.parse(asked) - (Date.parse(date) || Date.now());
  return Number.isFinite(named) ? named : undefined;
}
