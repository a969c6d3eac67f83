/** The charts of a fleet report as data. */
import { decades, ticks } from '../../../harness/common/axis.ts';
import { decode, percentileMs } from '../measure/metrics.ts';
import type { FleetResult, Tick } from '../result/result.ts';
import { metricName, phaseName, rateName } from './names.ts';

/** `percentile`: positions are `-log10(1 - share)`, so that each further nine has the same room. */
export type Unit = 'ms' | 's' | '%' | 'number' | 'percentile';

export interface Axis {
  unit: Unit;
  from: number;
  to: number;
  ticks: number[];
  /** Logarithmic. */
  log?: true;
}

/** A stretch of the x axis. */
export interface Band {
  name: string;
  from: number;
  to: number;
  /** Whether the metrics include it. */
  measured: boolean;
  /** What a person did beside the scenario. */
  byHand?: boolean;
}

export interface Series {
  name: string;
  values: (number | null)[];
  /** Drawn as what went wrong. */
  tone?: 'late';
}

export interface Plot {
  id: string;
  title: string;
  /** What it shows, in a sentence; also for those who cannot see it. */
  about: string;
  x: Axis;
  y: Axis;
  /** Values on the x axis, ascending. */
  at: number[];
  series: Series[];
  bands: Band[];
}

/** The legs of a roll-out in the order in which they happen. */
export const ROLLOUT_LEGS = ['command', 'sync', 'write', 'event', 'report'] as const;

const PERCENTILES = [0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99];
const percentilePosition = (percent: number): number => -Math.log10(1 - percent / 100);

/** Every duration but the legs of a roll-out, by percentile. */
export function percentilePlot({ histograms }: FleetResult): Plot | undefined {
  const names = Object.keys(histograms).filter((name) => !/^rollout\..+\.ms$/.test(name));
  if (names.length === 0) return undefined;
  const series = names.map((name) => {
    const from = decode(histograms[name] ?? '');
    // A logarithm has no 0.
    return {
      name: metricName(name),
      values: PERCENTILES.map((percent) => Math.max(percentileMs(from, percent), 0.001)),
    };
  });
  const all = series.flatMap(({ values }) => values);
  const marks = decades(Math.min(...all), Math.max(...all));
  return {
    id: 'percentiles',
    title: 'Latency by percentile',
    about: 'Each step to the right has one nine more; the scale of durations is logarithmic.',
    x: { unit: 'percentile', from: 0, to: 4, ticks: [0, percentilePosition(50), 1, 2, 3, 4] },
    y: { unit: 'ms', from: marks[0] ?? 1, to: marks.at(-1) ?? 10, ticks: marks, log: true },
    at: PERCENTILES.map(percentilePosition),
    series,
    bands: [],
  };
}

/** The phases on an axis of seconds from the start of the first. */
export function phaseBands({ phases }: FleetResult): Band[] {
  const start = phases[0]?.started_ms ?? 0;
  return phases.map(({ do: name, started_ms, duration_ms, measured, by_hand, interrupted }) => ({
    name: by_hand ?? `${phaseName(name)}${interrupted === true ? ', interrupted' : ''}`,
    from: (started_ms - start) / 1000,
    to: (started_ms - start + duration_ms) / 1000,
    measured,
    ...(by_hand !== undefined && { byHand: true }),
  }));
}

/** A chart of a long run has a value for several seconds. */
const MOST_POINTS = 240;

const average = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const highest = (values: number[]): number => Math.max(...values);

interface TimePlot {
  id: string;
  title: string;
  about: string;
  unit: Unit;
  nameOf?(name: string): string;
  of(tick: Tick): Record<string, number>;
  /** One value for several seconds. */
  joined(values: number[]): number;
}

const TIME_PLOTS: readonly TimePlot[] = [
  {
    id: 'states',
    title: 'Robots by state',
    about: 'How many robots of the fleet were in each state.',
    unit: 'number',
    of: ({ robots }) => robots,
    joined: average,
  },
  {
    id: 'rates',
    title: 'What happened each second',
    about: 'Counters per second.',
    unit: 'number',
    nameOf: rateName,
    of: ({ rates }) => rates,
    joined: average,
  },
  {
    id: 'rollout-time',
    title: 'Roll-out latency',
    about: 'From the POST to the event read on the robot, of the roll-outs that arrived in each second.',
    unit: 'ms',
    of: ({ p50, p99 }) => {
      const [middle, high] = [p50['rollout.ms'], p99['rollout.ms']];
      return { ...(middle !== undefined && { p50: middle }), ...(high !== undefined && { p99: high }) };
    },
    joined: highest,
  },
  {
    id: 'p99',
    title: '99th percentile of each second',
    about: 'The slowest of a hundred, second by second.',
    unit: 'ms',
    nameOf: metricName,
    of: ({ p99 }) => Object.fromEntries(Object.entries(p99).filter(([name]) => name !== 'rollout.ms')),
    joined: highest,
  },
  {
    id: 'load',
    title: 'Load generator: cores used',
    about: 'Processor time of Muster itself; 1 is one core.',
    unit: 'number',
    of: ({ cpu }) => ({ cores: cpu }),
    joined: average,
  },
  {
    id: 'stalls',
    title: 'Load generator: longest stall',
    about: 'The longest time in each second in which an event loop of Muster did nothing.',
    unit: 'ms',
    of: ({ loop_max_ms }) => ({ stall: loop_max_ms }),
    joined: highest,
  },
];

/** What was measured second by second, from the start of the first phase. */
export function timePlots(result: FleetResult): Plot[] {
  const bands = phaseBands(result);
  const start = result.phases[0]?.started_ms ?? 0;
  const series = result.series.filter(({ at_ms }) => at_ms >= start);
  if (series.length < 2) return [];
  const width = Math.ceil(series.length / MOST_POINTS);
  const columns = Array.from({ length: Math.ceil(series.length / width) }, (_, index) =>
    series.slice(index * width, (index + 1) * width),
  );
  const at = columns.map((column) => ((column.at(-1)?.at_ms ?? 0) - start) / 1000);
  const end = Math.max(at.at(-1) ?? 0, ...bands.map(({ to }) => to));
  const x: Axis = { unit: 's', from: 0, to: end, ticks: ticks(0, end, 8) };
  return TIME_PLOTS.flatMap((plot) => {
    const names = [...new Set(series.flatMap((tick) => Object.keys(plot.of(tick))))].sort();
    const drawn = names.map((name) => ({
      name: plot.nameOf?.(name) ?? name,
      values: columns.map((column) => {
        const values = column.flatMap((tick) => plot.of(tick)[name] ?? []);
        return values.length === 0 ? null : plot.joined(values);
      }),
    }));
    // One that was always 0 would only hide the others.
    const seen = drawn.filter(({ values }) => values.some((value) => (value ?? 0) > 0));
    if (seen.length === 0) return [];
    const { id, title, about, unit } = plot;
    return [{ id, title, about, x, y: upTo(unit, seen), at, series: seen, bands }];
  });
}

/** An axis from 0 that has room for every value. */
function upTo(unit: Unit, series: readonly Series[]): Axis {
  const most = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const marks = ticks(0, most * 1.05, 4);
  return { unit, from: 0, to: Math.max(most * 1.05, marks.at(-1) ?? 0), ticks: marks };
}
