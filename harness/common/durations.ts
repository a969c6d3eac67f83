/**
 * Durations as people write them in options and scenarios, and as reports show them. In between they are milliseconds.
 */

const MILLISECONDS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 60e3,
  h: 3_600e3,
  d: 86_400e3,
};

/** What `durationMs` accepts, as a regular expression for schemas. */
export const DURATION_FORM = `^\\d+(\\.\\d+)?(${Object.keys(MILLISECONDS).join('|')})$`;

/** The same in words, for messages. */
export const DURATION_WORDS = 'a number and a unit, e.g. 500ms, 30s, 5m (units ns, us, ms, s, m, h, d)';

/**
 * Milliseconds in `250ms`, `1.5s`, `2h`.
 *
 * @throws RangeError that says what is accepted
 */
export function durationMs(text: string): number {
  const [, , unit = ''] = new RegExp(DURATION_FORM).exec(text) ?? [];
  const milliseconds = MILLISECONDS[unit];
  if (milliseconds === undefined) throw new RangeError(`'${text}' is no duration: ${DURATION_WORDS}`);
  // Divided where the unit is smaller: 5 * 1e-6 is not the number nearest to 0.000005.
  const number = Number(text.slice(0, -unit.length));
  return milliseconds < 1 ? number / Math.round(1 / milliseconds) : number * milliseconds;
}

/** Milliseconds for a reader, to three digits: `500 µs`, `12.3 ms`, `450 ms`, `4.5 s`, `2 min 5 s`. */
export function readableDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0 ms';
  if (milliseconds < 0.9995) return `${threeDigits(milliseconds * 1000)} µs`;
  if (milliseconds < 999.5) return `${threeDigits(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${threeDigits(milliseconds / 1000)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const threeDigits = (value: number): number => Number(value.toPrecision(3));

// How long an answer asks its client to wait.

/** What is read of an answer's headers, their names in lower case. */
export interface RetryHeaders {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}

/**
 * Milliseconds that `Retry-After` names: seconds, or a date, which is compared with the server's own clock if it sends
 * one (RFC 9110 section 10.2.3). Undefined when it names nothing; below 0 for a date that is over.
 */
export function retryAfterMs({ 'retry-after': asked = '', date = '' }: RetryHeaders): number | undefined {
  if (/^\s*\d+(\.\d+)?\s*$/.test(asked)) return Number(asked) * 1000;
  // Some engines take a bare number for a year.
  if (!/^\s*[a-z]{3,}/i.test(asked)) return undefined;
  const named = Date.parse(asked) - (Date.parse(date) || Date.now());
  return Number.isFinite(named) ? named : undefined;
}
