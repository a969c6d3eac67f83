import { defined } from '../../../harness/common/defined.ts';
import { decades, readableDuration, ticks } from '../../../harness/common/units.ts';
import { DURATION_NAMES, decode, isDuration, ofWhole, percentileMs } from '../measure/metrics.ts';
import type { FleetResult, Reach, Tick } from '../result/result.ts';
import type { Axis, Band, Plot, Series, Unit } from './chart.ts';

const RATES: Readonly<Record<string, string>> = {
  'sse.events': 'events read',
  rollout: 'roll-outs posted',
  'rollout.missed': 'roll-outs missed',
  'rollout.errors': 'roll-outs failed',
  ping: 'pings',
  'ping.errors': 'pings failed',
  http: 'requests',
  'http.errors': 'requests failed',
  'list.errors': 'lists failed',
  'read.errors': 'reads failed',
  'expand.errors': 'expanded lists failed',
  'sync.errors': 'syncs failed',
  'connect.errors': 'connects failed',
};

const PHASES: Readonly<Record<string, string>> = { rollout: 'roll-out', 'clock-skew': 'clock skew' };

export const metricName = (name: string): string => (isDuration(name) ? DURATION_NAMES[name] : name);

export const ROLLOUT_LEGS = ['command', 'sync', 'write', 'event', 'report'] as const;

const PERCENTILES = [0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99];
const percentilePosition = (percent: number): number => -Math.log10(1 - percent / 100);

export function percentilePlot({ histograms }: FleetResult): Plot | undefined {
  const names = Object.keys(ofWhole(histograms)).filter((name) => !/^rollout\..+\.ms$/.test(name));
  if (names.length === 0) return undefined;
  const series = names.map((name) => {
    const from = decode(histograms[name] ?? '');
    // At least 1 µs, because the logarithmic scale has no 0.
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

interface TimePlot extends Pick<Plot, 'id' | 'title' | 'about'> {
  unit: Unit;
  nameOf?(name: string): string;
  of(tick: Tick): Record<string, number>;
}

const TIME_PLOTS: readonly TimePlot[] = [
  {
    id: 'states',
    title: 'Robots by state',
    about: 'How many robots of the fleet were in each state.',
    unit: 'number',
    of: ({ robots }) => robots,
  },
  {
    id: 'rates',
    title: 'What happened each second',
    about: 'Counters per second.',
    unit: 'number',
    nameOf: (name) => RATES[name] ?? name,
    of: ({ rates }) => rates,
  },
  {
    id: 'rollout-time',
    title: 'Roll-out latency',
    about: 'From the POST to the event read on the robot, of the roll-outs that arrived in each second.',
    unit: 'ms',
    of: ({ p50, p99 }) => defined({ p50: p50['rollout.ms'], p99: p99['rollout.ms'] }),
  },
  {
    id: 'p99',
    title: '99th percentile of each second',
    about: 'The slowest of a hundred, second by second.',
    unit: 'ms',
    nameOf: metricName,
    of: ({ p99 }) => Object.fromEntries(Object.entries(ofWhole(p99)).filter(([name]) => name !== 'rollout.ms')),
  },
  {
    id: 'load',
    title: 'Load generator: cores used',
    about: 'Processor time of Muster itself; 1 is one core.',
    unit: 'number',
    of: ({ cpu }) => ({ cores: cpu }),
  },
  {
    id: 'stalls',
    title: 'Load generator: longest stall',
    about: 'The longest time in each second in which an event loop of Muster did nothing.',
    unit: 'ms',
    of: ({ loop_max_ms }) => ({ stall: loop_max_ms }),
  },
];

export function timePlots(result: FleetResult): Plot[] {
  const { phases } = result;
  const start = phases[0]?.started_ms ?? 0;
  const series = result.series.filter(({ at_ms }) => at_ms >= start);
  if (series.length < 2) return [];
  const once = phases.filter(({ rounds = 1 }) => rounds === 1);
  const bands = once.map(
    ({ do: name, started_ms, duration_ms, measured, by_hand, interrupted }): Band => ({
      name: by_hand ?? `${PHASES[name] ?? name}${interrupted === true ? ', interrupted' : ''}`,
      from: (started_ms - start) / 1000,
      to: (started_ms - start + duration_ms) / 1000,
      measured,
      ...(by_hand !== undefined && { byHand: true }),
    }),
  );
  const width = Math.ceil(series.length / 240);
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
        if (values.length === 0) return null;
        return plot.unit === 'ms' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0) / values.length;
      }),
    }));
    const seen = drawn.filter(({ values }) => values.some((value) => (value ?? 0) > 0));
    if (seen.length === 0) return [];
    const { id, title, about, unit } = plot;
    const most = 1.05 * Math.max(...seen.flatMap(({ values }) => values.map((value) => value ?? 0)));
    const marks = ticks(0, most, 4);
    const y: Axis = { unit, from: 0, to: Math.max(most, marks.at(-1) ?? 0), ticks: marks };
    return [{ id, title, about, x, y, at, series: seen, bands }];
  });
}

const STEPS = [...Array.from({ length: 100 }, (_, percent) => percent), 99.5, 99.9, 100];

export function reachPlot(result: FleetResult, reach: Reach): Plot {
  const { histograms, phases } = result;
  const inTime = curve(histograms['rollout.ms'], reach.inTime / reach.attempts, 0);
  const late = curve(histograms['rollout.late.ms'], reach.late / reach.attempts, reach.inTime / reach.attempts);
  const limits = phases.flatMap(({ within_ms }) => within_ms ?? []);
  const end = 1.04 * ([...inTime, ...late].reduce((latest, [ms]) => Math.max(latest, ms), 0) || Math.max(1, ...limits));
  const at = [...new Set([0, ...inTime.map(([ms]) => ms), ...late.map(([ms]) => ms), end])].sort((a, b) => a - b);
  const series: Series[] = [{ name: 'arrived in time', values: at.map((ms) => shareAt(inTime, ms)) }];
  const firstLate = late[0]?.[0];
  if (firstLate !== undefined) {
    const values = at.map((ms) => (ms < firstLate ? null : shareAt(late, ms)));
    series.push({ name: 'with those that came late', tone: 'late', values });
  }
  const encoded = histograms['rollout.ms'];
  const half =
    encoded === undefined || reach.inTime * 2 < reach.attempts
      ? 'Less than half had in time.'
      : `Half had after ${readableDuration(percentileMs(decode(encoded), (50 * reach.attempts) / reach.inTime))}.`;
  const share = (number: number): string => percentText(number, reach.attempts);
  const withLate = reach.late > 0 ? `, and at ${share(reach.inTime + reach.late)} with those that came late` : '';
  const about = `By time after the POST, of all ${reach.attempts.toLocaleString('en')} attempts. ${half}`;
  return {
    id: 'reach',
    title: 'Share of roll-outs that had arrived',
    about: `${about} It ends at ${share(reach.inTime)}${withLate}.`,
    x: { unit: 'ms', from: 0, to: end, ticks: ticks(0, end, 8) },
    y: { unit: '%', from: 0, to: 100, ticks: [0, 25, 50, 75, 100] },
    at,
    series,
    bands: [],
  };
}

function curve(encoded: string | undefined, share: number, base: number): [ms: number, percent: number][] {
  if (encoded === undefined || share === 0) return [];
  const from = decode(encoded);
  return STEPS.map((percent) => [percentileMs(from, percent), 100 * base + percent * share]);
}

const shareAt = (points: readonly [number, number][], ms: number): number =>
  points.findLast(([at]) => at <= ms)?.[1] ?? points[0]?.[1] ?? 0;

export function percentText(part: number, of: number): string {
  const percent = of === 0 ? 0 : (100 * part) / of;
  if (part < of && percent > 99.99) return '99.99 %';
  if (part > 0 && percent < 0.01) return '0.01 %';
  return `${Number(percent.toFixed(percent > 99 || percent < 1 ? 2 : 1))} %`;
}
