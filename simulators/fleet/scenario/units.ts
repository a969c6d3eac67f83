/** Rates and shares as people write them in scenarios. Durations: see harness/common/durations.ts. */
import { durationMs } from '../../../harness/common/durations.ts';

/** What `ratePerSecond` accepts, as a regular expression for schemas, and in words. */
export const RATE_FORM = '^\\d+(\\.\\d+)?/(s|m|h)$';
export const RATE_WORDS = 'a number per time unit over the whole fleet, e.g. 50/s, 300/m (units s, m, h)';

/** What `shareOf` accepts. */
export const SHARE_FORM = '^(100(\\.0+)?|\\d{1,2}(\\.\\d+)?)%$';
export const SHARE_WORDS = 'a percentage of the fleet, 0% to 100%';

/** Events per second. Throws RangeError that says what is accepted. */
export function ratePerSecond(text: string): number {
  if (!new RegExp(RATE_FORM).test(text)) throw new RangeError(`'${text}' is not a rate: ${RATE_WORDS}`);
  const [number, unit] = text.split('/');
  return Number(number) / (durationMs(`1${unit}`) / 1000);
}

/** A fraction from 0 to 1. Throws RangeError that says what is accepted. */
export function shareOf(text: string): number {
  if (!new RegExp(SHARE_FORM).test(text)) throw new RangeError(`'${text}' is not a share: ${SHARE_WORDS}`);
  return Number(text.slice(0, -1)) / 100;
}
