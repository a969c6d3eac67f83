/** Durations, rates and shares as people write them in scenarios, options and thresholds. */

const NANOS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };

export const DURATION_FORM = '^\\d+(\\.\\d+)?(ns|us|µs|ms|s|m|h)$';
export const RATE_FORM = '^\\d+(\\.\\d+)?/(s|m|h)$';
export const SHARE_FORM = '^(100(\\.0+)?|\\d{1,2}(\\.\\d+)?)%$';

export const DURATION_WORDS = 'a number and a unit, e.g. 500ms, 30s, 5m (units ns, us, ms, s, m, h)';
export const RATE_WORDS = 'a number a time unit over the whole fleet, e.g. 50/s, 300/m';
export const SHARE_WORDS = 'a percentage of the fleet, 0% to 100%';

/** Milliseconds in a duration; throws RangeError that says what is accepted. */
export function durationMs(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)$/.exec(text);
  if (match === null) throw new RangeError(`'${text}' is no duration: ${DURATION_WORDS}`);
  return (Number(match[1]) * (NANOS[match[2] ?? ''] ?? Number.NaN)) / 1e6;
}

/** Events a second. */
export function ratePerSecond(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\/(s|m|h)$/.exec(text);
  if (match === null) throw new RangeError(`'${text}' is no rate: ${RATE_WORDS}`);
  return (Number(match[1]) * 1e9) / (NANOS[match[2] ?? ''] ?? Number.NaN);
}

/** A fraction from 0 to 1. */
export function shareOf(text: string): number {
  if (!new RegExp(SHARE_FORM).test(text)) throw new RangeError(`'${text}' is no share: ${SHARE_WORDS}`);
  return Number(text.slice(0, -1)) / 100;
}

/** Short for people: 12.3 ms, 4.5 s, 2 min 3 s. */
export function readableMs(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 999.5) return `${ms < 100 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
