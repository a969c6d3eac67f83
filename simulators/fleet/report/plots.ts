/** The plots of a fleet report, as data that the page's script draws with uPlot. */
import { decode } from '../measure/metrics.ts';
import type { FleetResult, Tick } from '../result/result.ts';

export interface Plot {
  id: string;
  x: 'seconds' | 'ms' | 'percentile';
  y: 'ms' | '%' | 'number';
  /** Whether the y axis is logarithmic. */
  log?: boolean;
  /** Values on the x axis, ascending. */
  at: number[];
  series: { name: string; values: (number | null)[] }[];
}

/** The legs of a roll-out in the order in which they happen. */
export const ROLLOUT_LEGS = ['command', 'sync', 'write', 'event', 'report'] as const;

export const plotsOf = (result: FleetResult): Plot[] => [
  ...rolloutPlots(result),
  ...percentilePlots(result),
  ...timePlots(result),
];

const PERCENTS = [0, 1, ...Array.from({ length: 19 }, (_, step) => 5 + step * 5), 97, 99, 99.5, 99.9, 100];

/** The reach of a roll-out and its legs, from the histograms. */
function rolloutPlots({ histograms, metrics }: FleetResult): Plot[] {
  const whole = histograms['rollout.ms'];
  if (whole === undefined) return [];
  const from = decode(whole);
  const points = PERCENTS.map((percent) => [from.getValueAtPercentile(percent) / 1000, percent] as const);
  // A plot needs ascending times: of equal times, the one with the highest share stays.
  const distinct = points.filter(([ms], index) => ms !== points[index + 1]?.[0]);
  const reach: Plot = {
    id: 'reach',
    x: 'ms',
    y: '%',
    at: distinct.map(([ms]) => ms),
    series: [{ name: 'robots reached', values: distinct.map(([, percent]) => percent) }],
  };
  const legs = ROLLOUT_LEGS.map((leg) => `rollout.${leg}.ms`).filter((name) => histograms[name] !== undefined);
  if (legs.length === 0 || metrics['rollout.ms'] === undefined) return [reach];
  return [reach, byPercentile('legs', legs, histograms)];
}

function percentilePlots({ histograms }: FleetResult): Plot[] {
  const names = Object.keys(histograms).filter((name) => !/^rollout\..+\.ms$/.test(name));
  return names.length === 0 ? [] : [byPercentile('percentiles', names, histograms)];
}

const PERCENTILES = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99];

function byPercentile(id: string, names: string[], histograms: Record<string, string>): Plot {
  return {
    id,
    x: 'percentile',
    y: 'ms',
    log: true,
    at: PERCENTILES.map((percent) => -Math.log10(1 - percent / 100)),
    series: names.map((name) => {
      const from = decode(histograms[name] ?? '');
      return { name, values: PERCENTILES.map((percent) => Math.max(from.getValueAtPercentile(percent) / 1000, 0.001)) };
    }),
  };
}

function timePlots({ series }: FleetResult): Plot[] {
  if (series.length < 2) return [];
  const at = series.map((tick) => tick.at_ms / 1000);
  const overTime = (id: string, y: Plot['y'], of: (tick: Tick) => Record<string, number>): Plot => {
    const names = [...new Set(series.flatMap((tick) => Object.keys(of(tick))))].sort();
    return {
      id,
      x: 'seconds',
      y,
      at,
      series: names.map((name) => ({ name, values: series.map((tick) => of(tick)[name] ?? null) })),
    };
  };
  // A rate that was always 0 would only hide the others.
  const rated = new Set(series.flatMap(({ rates }) => Object.keys(rates).filter((name) => (rates[name] ?? 0) > 0)));
  return [
    overTime('rates', 'number', ({ rates }) =>
      Object.fromEntries(Object.entries(rates).filter(([name]) => rated.has(name))),
    ),
    overTime('p99', 'ms', ({ p99 }) => p99),
    overTime('states', 'number', ({ robots }) => robots),
    overTime('load', 'number', ({ cpu }) => ({ cores: cpu })),
    overTime('stalls', 'ms', ({ loop_max_ms }) => ({ stall: loop_max_ms })),
    overTime('rollout-time', 'ms', ({ p50, p99 }) => {
      const [middle, high] = [p50['rollout.ms'], p99['rollout.ms']];
      return { ...(middle !== undefined && { p50: middle }), ...(high !== undefined && { p99: high }) };
    }),
  ].filter((plot) => plot.series.length > 0);
}
