/** Samples memory and other figures of processes, and decides whether a series of samples grows. */

import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sparkline } from '../../common/terminal.ts';
import { MIB, median } from './figure.ts';
import { memoryOf, textOf } from './process.ts';

// Probe for `--import`: writes heap and active resources to a file in MUSTER_SOAK every MUSTER_SOAK_EVERY milliseconds;
// with MUSTER_WATCH, reports changes to shared prototypes.

export function ownFigures(): { heap: number; timers: number; resources: number } {
  const resources = process.getActiveResourcesInfo();
  const timers = resources.filter((name) => name === 'Timeout' || name === 'Immediate').length;
  return { heap: process.memoryUsage().heapUsed, timers, resources: resources.length };
}

const EVERY_MS = Number(process.env['MUSTER_SOAK_EVERY'] ?? 4_000);
const folder = process.env['MUSTER_SOAK'];
if (folder !== undefined) {
  const file = join(folder, `${process.pid}.json`);
  let told = 0;
  /** Bytes in the heap and in buffers outside it, after a full garbage collection. */
  let live: number | undefined;
  // Keeps compiled code, which collections drop and later calls bring back: 4 to 7 MiB that look like growth.
  setFlagsFromString('--no-flush-bytecode');
  setInterval(() => {
    // Collects garbage seldom, because it stops the process for 30 ms.
    if (told % 10 === 0) {
      setFlagsFromString('--expose-gc');
      (runInNewContext('gc') as () => void)();
      const { heapUsed, external } = process.memoryUsage();
      live = heapUsed + external;
    }
    told += 1;
    const text = JSON.stringify({ ...ownFigures(), held: live });
    try {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    } catch {
      // The soak test has ended and removed the folder.
    }
  }, EVERY_MS).unref();
  process.once('exit', () => rmSync(file, { force: true }));
}

if (process.env['MUSTER_WATCH'] !== undefined) {
  const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Number.prototype];
  const names = (): string => prototypes.map((each) => Reflect.ownKeys(each).map(String).join()).join(';');
  const before = names();
  const timer = setInterval(() => {
    const seen = names();
    if (seen === before) return;
    process.stderr.write(`prototypes are polluted: ${seen.slice(-100)}\n`);
    clearInterval(timer);
  }, 20).unref();
}

export type Sample = readonly [seconds: number, value: number];

/** Minimum growth: `least` units or `share` of the median, whichever is larger. */
export interface GrowthThreshold {
  least: number;
  share: number;
  /** True if a single step is no growth, e.g. memory that a process allocates once and keeps. */
  steps?: boolean;
}

/** Units a minute, with a confidence interval of 95 %. */
export interface Slope {
  perMinute: number;
  low: number;
  high: number;
  median: number;
  grows: boolean;
}

/**
 * Theil-Sen slope; undefined for too few samples.
 * Growth: the 95 % interval is above 0, the gain exceeds the noise, and the minimum rises.
 */
export function slopeOf(samples: readonly Sample[], noise: GrowthThreshold): Slope | undefined {
  const [first, last] = [samples[0]?.[0] ?? 0, samples.at(-1)?.[0] ?? 0];
  // Ignores the first third, in which caches fill and Node compiles code.
  const from = first + (last - first) / 3;
  const measured = samples.filter(([seconds]) => seconds >= from);
  const points = blocks(measured);
  if (points.length < 8) return undefined;
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
    // Steady growth also raises the minimum.
    risen > tooMuch / 2 &&
    halves.every((part) => trend(blocks(part)).low > 0);
  return { ...all, median: middle, grows };
}

const least = (samples: readonly Sample[]): number =>
  samples.reduce((lowest, [, value]) => Math.min(lowest, value), Number.POSITIVE_INFINITY);

function trend(points: readonly Sample[]): Pick<Slope, 'perMinute' | 'low' | 'high'> {
  const slopes = points
    .flatMap(([x, y], index) => points.slice(index + 1).map(([later, value]) => (60 * (value - y)) / (later - x)))
    .toSorted((a, b) => a - b);
  const count = points.length;
  // Width of the 95 % interval, in ranks of the sorted slopes, by the variance of Kendall's S.
  const spread = 1.96 * Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  const at = (rank: number): number => slopes[Math.min(slopes.length - 1, Math.max(0, Math.round(rank)))] ?? 0;
  const [low, high] = [at((slopes.length - spread) / 2 - 1), at((slopes.length + spread) / 2)];
  return { perMinute: median(slopes), low, high };
}

function blocks(samples: readonly Sample[]): Sample[] {
  const size = Math.max(1, Math.floor(samples.length / 20));
  return Array.from({ length: Math.floor(samples.length / size) }, (_, at): Sample => {
    const block = samples.slice(at * size, (at + 1) * size);
    return [median(block.map(([seconds]) => seconds)), median(block.map(([, value]) => value))];
  });
}

export interface Series {
  subject: string;
  what: string;
  unit: string;
  noise: GrowthThreshold;
  samples: Sample[];
}

interface Kind extends Omit<Series, 'subject' | 'samples'> {
  value(process: { pid: number; told: Record<string, number | undefined> }): number | undefined;
}

const COUNTED = { unit: '', noise: { least: 4, share: 0.1 } };
const PAGES = { unit: 'MiB', noise: { least: 5, share: 0.1, steps: true } };
const KINDS: readonly Kind[] = [
  { what: 'RSS', ...PAGES, value: ({ pid }) => inMib(memoryOf(textOf(`/proc/${pid}/status`), 'VmRSS')) },
  { what: 'PSS', ...PAGES, value: ({ pid }) => inMib(memoryOf(textOf(`/proc/${pid}/smaps_rollup`), 'Pss')) },
  { what: 'heap', unit: 'MiB', noise: { least: 3, share: 0.15 }, value: ({ told }) => inMib(told['heap']) },
  { what: 'live heap', unit: 'MiB', noise: { least: 1, share: 0.03 }, value: ({ told }) => inMib(told['held']) },
  { what: 'descriptors', ...COUNTED, value: ({ pid }) => namesIn(`/proc/${pid}/fd`)?.length },
  { what: 'timers', ...COUNTED, value: ({ told }) => told['timers'] },
  { what: 'resources', ...COUNTED, value: ({ told }) => told['resources'] },
];

export class Sampler {
  readonly series = new Map<string, Series>();
  readonly #started = performance.now();
  readonly #probes: string;

  constructor(probes: string) {
    this.#probes = probes;
  }

  process(subject: string, pid: number): void {
    const told: Record<string, number | undefined> =
      pid === process.pid ? ownFigures() : JSON.parse(textOf(join(this.#probes, `${pid}.json`)) || '{}');
    for (const { value, ...kind } of KINDS) this.#add({ subject, ...kind }, value({ pid, told }));
  }

  folder(subject: string, path: string): void {
    this.#add({ subject, what: 'disk', unit: 'MiB', noise: { least: 0.5, share: 0.1 } }, sizeOf(path) / MIB);
  }

  #add(about: Omit<Series, 'samples'>, value: number | undefined): void {
    if (value === undefined) return;
    const name = `${about.subject} ${about.what}`;
    const series = this.series.get(name) ?? { ...about, samples: [] };
    this.series.set(name, series);
    series.samples.push([(performance.now() - this.#started) / 1000, value]);
  }
}

const inMib = (bytes: number | undefined): number | undefined => bytes && bytes / MIB;

function namesIn(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}

function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true) return stat?.size ?? 0;
  return (namesIn(path) ?? []).reduce((bytes, name) => bytes + sizeOf(join(path, name)), 0);
}

export interface JudgedSeries extends Series {
  slope: Slope | undefined;
}

export const judgeSeries = (all: Iterable<Series>): JudgedSeries[] =>
  [...all].map((series) => ({ ...series, slope: slopeOf(series.samples, series.noise) }));

const SPARK_COUNT = 24;

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));

export function verdictOf({ unit, slope }: JudgedSeries): string {
  if (slope === undefined) return 'too short to say';
  const { perMinute, low, high, median, grows } = slope;
  const inUnit = unit === '' ? '' : ` ${unit}`;
  return (
    `${grows ? 'grows' : 'flat '} ${shown(median).padStart(7)}${inUnit}, ${shown(perMinute)}${inUnit}/min ` +
    `(${shown(low)} to ${shown(high)})`
  );
}

export function tableOf(all: readonly JudgedSeries[]): string {
  const width = Math.max(...all.map(({ subject, what }) => subject.length + what.length + 1));
  const lines = all.map((one) => {
    const values = one.samples.map(([, value]) => value);
    const low = Math.min(...values);
    const some = Array.from({ length: SPARK_COUNT }, (_, at) => values[Math.floor((at * values.length) / SPARK_COUNT)]);
    const spark = sparkline(some.map((value = low) => value - low));
    const name = `${one.subject} ${one.what}`.padEnd(width);
    return `${one.slope?.grows ? '✗' : ' '} ${name} ${spark} ${verdictOf(one)}\n`;
  });
  return lines.join('');
}
