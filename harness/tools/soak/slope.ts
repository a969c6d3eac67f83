/**
 * Whether a series grows. The part after the warm-up is cut into blocks, and each stands for itself with its median, because samples
 * next to each other are alike. The slope is Theil and Sen's median of all slopes between two blocks, with the interval of 95 % after
 * Kendall. A series grows when the whole interval lies above 0 and the gain over the measured time is more than noise. One that a
 * process takes in steps (pages that it keeps once it needed them) grows when each half of the measured time says so as well. What
 * falls back to where it was has not grown, however often it is full: the least of the last third must lie above that of the first.
 */

/** One sample: seconds since the start, and the value. */
export type Sample = readonly [seconds: number, value: number];

/** What is too much for a gain over the measured time: more than both. */
export interface Noise {
  /** In the unit of the values. */
  least: number;
  /** As a part of the median. */
  share: number;
  /** Whether a single step is no growth. */
  steps?: boolean;
}

/** A slope in units a minute, with its interval of 95 %. */
export interface Slope {
  perMinute: number;
  low: number;
  high: number;
  median: number;
  grows: boolean;
}

const BLOCKS = 20;
/** The share of the time in which caches fill and code is compiled. */
const WARM_UP = 1 / 3;
const FEWEST = 8;
const Z_95 = 1.96;

/** Undefined when there are too few samples to say. */
export function slopeOf(samples: readonly Sample[], noise: Noise): Slope | undefined {
  const [first, last] = [samples[0]?.[0] ?? 0, samples.at(-1)?.[0] ?? 0];
  const from = first + (last - first) * WARM_UP;
  const measured = samples.filter(([seconds]) => seconds >= from);
  const points = blocks(measured);
  if (points.length < FEWEST) return undefined;
  const all = trend(points);
  const middle = median(points.map(([, value]) => value));
  const gain = (all.perMinute * ((points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0))) / 60;
  const half = Math.ceil(measured.length / 2);
  const halves = noise.steps === true ? [measured.slice(0, half), measured.slice(half)] : [];
  const tooMuch = Math.max(noise.least, noise.share * middle);
  const third = Math.ceil(measured.length / 3);
  const risen = least(measured.slice(-third)) - least(measured.slice(0, third));
  const grows =
    all.low > 0 &&
    gain > tooMuch &&
    // Of a steady growth, two thirds of the gain lie between the two.
    risen > tooMuch / 2 &&
    halves.every((part) => trend(blocks(part)).low > 0);
  return { ...all, median: middle, grows };
}

const least = (samples: readonly Sample[]): number =>
  samples.reduce((lowest, [, value]) => Math.min(lowest, value), Number.POSITIVE_INFINITY);

/** The slope of some points in units a minute, with its interval. */
function trend(points: readonly Sample[]): Pick<Slope, 'perMinute' | 'low' | 'high'> {
  const slopes = points
    .flatMap(([x, y], index) => points.slice(index + 1).map(([later, value]) => (60 * (value - y)) / (later - x)))
    .toSorted((a, b) => a - b);
  const count = points.length;
  // Variance of Kendall's S without ties.
  const spread = Z_95 * Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  const at = (rank: number): number => slopes[Math.min(slopes.length - 1, Math.max(0, Math.round(rank)))] ?? 0;
  const [low, high] = [at((slopes.length - spread) / 2 - 1), at((slopes.length + spread) / 2)];
  return { perMinute: median(slopes), low, high };
}

function blocks(samples: readonly Sample[]): Sample[] {
  const size = Math.max(1, Math.floor(samples.length / BLOCKS));
  const all: Sample[] = [];
  for (let start = 0; start + size <= samples.length; start += size) {
    const block = samples.slice(start, start + size);
    all.push([median(block.map(([seconds]) => seconds)), median(block.map(([, value]) => value))]);
  }
  return all;
}

/** The middle value; 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
