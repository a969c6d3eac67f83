/** Durations as HDR histograms: whole microseconds up to an hour, three significant digits, exact when merged. */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

const HIGHEST_MICROSECONDS = 3_600_000_000;

/** Percentiles of one metric of `result.json`, in `unit`. */
export interface Summary {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
  unit: 'ms';
}

/** `digits`: 3 for results; 2 suffice for a curve, and take a tenth of the bytes between processes. */
export function histogram(digits: 2 | 3 = 3): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_MICROSECONDS,
    numberOfSignificantValueDigits: digits,
    bitBucketSize: 32,
    autoResize: false,
    useWebAssembly: false,
  });
}

/** Records a duration; negative ones (a clock was turned back) as 0, those over an hour as an hour. */
export function recordMs(into: Histogram, ms: number): void {
  into.recordValue(Math.min(Math.max(Math.round(ms * 1000), 0), HIGHEST_MICROSECONDS));
}

export function summary(of: Histogram): Summary {
  const at = (percentile: number): number => (of.totalCount === 0 ? 0 : of.getValueAtPercentile(percentile) / 1000);
  return {
    count: of.totalCount,
    p50: at(50),
    p90: at(90),
    p99: at(99),
    p999: at(99.9),
    max: at(100),
    unit: 'ms',
  };
}

export const encode = (from: Histogram): string => encodeIntoCompressedBase64(from);

/** Throws when the text is not an encoded histogram. */
export function decode(text: string): Histogram {
  const read = decodeFromCompressedBase64(text, 32, false) as Histogram;
  // A decoded histogram has only the range of its content; one of full range can record further values.
  const whole = histogram(read.numberOfSignificantValueDigits === 2 ? 2 : 3);
  whole.add(read as never);
  return whole;
}

/** Adds every count of `from`. Exact, because both have the same buckets. */
export function merge(into: Histogram, from: Histogram): void {
  into.add(from as never);
}
