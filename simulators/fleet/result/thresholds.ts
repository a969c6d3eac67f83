/**
 * Conditions a run must meet, e.g. `rollout.ms.p99<5s`, `ping.ms.p99.9<1s`, `http.errors.rate<1%`,
 * `ping.ms.count>=100`. Grammar: `metric.statistic operator number[unit]`. The metric is a name of the result's
 * `metrics` or `counters`.
 */
import { defined } from '../../../harness/common/defined.ts';
import { durationMs } from '../../../harness/common/durations.ts';
import { nearest } from '../../../harness/common/usage.ts';
import { COUNTERS, DURATIONS, decode, isCounter, isDuration, percentileMs, type Summary } from '../measure/metrics.ts';
import type { FleetResult } from './result.ts';

const STATISTICS = ['count', 'max', 'rate'] as const;
type Statistic = (typeof STATISTICS)[number] | 'percentile';
const OPERATORS = {
  '<=': (value: number, bound: number) => value <= bound,
  '>=': (value: number, bound: number) => value >= bound,
  '==': (value: number, bound: number) => value === bound,
  '<': (value: number, bound: number) => value < bound,
  '>': (value: number, bound: number) => value > bound,
};
type Operator = keyof typeof OPERATORS;

const RATES: Record<string, { factor: number; per: 'attempt' | 'second' }> = {
  '%': { factor: 0.01, per: 'attempt' },
  '/s': { factor: 1, per: 'second' },
};

export interface Threshold {
  expr: string;
  metric: string;
  statistic: Statistic;
  /** Above 0 and below 100, of a percentile. */
  percent?: number;
  operator: Operator;
  /** Milliseconds for durations, a fraction for percentages, events per second for `/s`, else a plain number. */
  bound: number;
  /** Whether `rate` is a share of attempts or a number per second. */
  per?: 'attempt' | 'second';
}

/** `value` is null when nothing was measured; the threshold is then missed. */
export type ThresholdResult = FleetResult['thresholds'][number];

/** Throws RangeError that says what is accepted. */
export function parseThreshold(text: string): Threshold {
  const expr = text.replaceAll(/\s+/g, '');
  const match = /^([a-z0-9_.-]+?)\.([a-z]+|p\d+(?:\.\d+)?)(<=|>=|==|<|>)(-?\d+(?:\.\d+)?)([a-zµ%/]*)$/i.exec(expr);
  if (match === null) throw refuse(text, "it must read 'metric.statistic<number[unit]', e.g. rollout.ms.p99<5s");
  const [, metric = '', wanted = '', operator = '', number = '', unit = ''] = match;
  const percent = percentIn(wanted);
  const statistic = percent === undefined ? STATISTICS.find((known) => known === wanted) : 'percentile';
  if (statistic === undefined) {
    throw refuse(
      text,
      `'${wanted}' is not a statistic; accepted: ${STATISTICS.join(', ')}, and any percentile, e.g. p50, p95, p99.9`,
    );
  }
  if (number.startsWith('-')) throw refuse(text, `measurements are never below 0, but '${number}${unit}' is`);
  // The expression above matches no other operator.
  const base: Omit<Threshold, 'bound'> = {
    expr,
    metric,
    statistic,
    operator: operator as Operator,
    ...defined({ percent }),
  };
  if (statistic === 'count') {
    if (unit !== '') throw refuse(text, `a count has no unit, but '${unit}' was given`);
    return { ...base, bound: Number(number) };
  }
  if (statistic === 'rate') {
    const kind = RATES[unit];
    if (kind === undefined) throw refuse(text, 'a rate is a percentage of attempts (1%) or a number per second (10/s)');
    return { ...base, bound: Number(number) * kind.factor, per: kind.per };
  }
  try {
    return { ...base, bound: durationMs(`${number}${unit}`) };
  } catch (error) {
    throw refuse(text, (error as Error).message);
  }
}

/** The percentage in `p95` or `p99.9`, and in `p999`, the older name of `p99.9`. */
function percentIn(statistic: string): number | undefined {
  const [, digits] = /^p(\d{1,2}(?:\.\d+)?|999)$/.exec(statistic) ?? [];
  if (digits === undefined) return undefined;
  const percent = digits === '999' ? 99.9 : Number(digits);
  return percent > 0 ? percent : undefined;
}

/**
 * Parses a threshold that a person wrote: throws RangeError also for a metric that this version cannot measure.
 * `parseThreshold` accepts it, because results of other versions may have other metrics.
 */
export function checkThreshold(text: string): Threshold {
  const threshold = parseThreshold(text);
  const { metric, statistic, per } = threshold;
  const duration = isDuration(metric);
  if (!duration && !isCounter(metric)) {
    const near = nearest(metric, [...DURATIONS, ...COUNTERS]);
    throw refuse(
      text,
      `there is no metric '${metric}'${near === undefined ? '' : `; did you mean ${near}?`}\n  accepted ` +
        `durations: ${DURATIONS.join(', ')}\n  accepted counters: ${COUNTERS.join(', ')}, http.status.NNN`,
    );
  }
  if (!duration && statistic !== 'count' && statistic !== 'rate') {
    throw refuse(text, `'${metric}' is a counter: only count and rate apply`);
  }
  if (per === 'attempt' && !isCounter(attemptsOf(metric))) {
    throw refuse(text, `attempts of '${metric}' are not counted; accepted: a number per second (10/s)`);
  }
  return threshold;
}

const refuse = (text: string, why: string): RangeError => new RangeError(`threshold '${text}': ${why}`);

/** What thresholds are compared with. */
export interface Measured {
  metrics: Record<string, Summary>;
  counters: Record<string, number>;
  /** Milliseconds that so many percent did not exceed; undefined where nothing was measured. */
  percentile(metric: string, percent: number): number | undefined;
  /** Duration of the measured phases. */
  measuredSeconds: number;
}

/** Percentiles of base64 HDR histograms. */
const percentilesOf =
  (histograms: Record<string, string>): Measured['percentile'] =>
  (metric, percent) => {
    const encoded = histograms[metric];
    return encoded === undefined ? undefined : percentileMs(decode(encoded), percent);
  };

/** What thresholds of a finished part of a run are compared with. */
export const measuredIn = ({
  metrics,
  counters,
  histograms,
  measured_seconds: measuredSeconds,
}: Pick<FleetResult, 'metrics' | 'counters' | 'histograms' | 'measured_seconds'>): Measured => ({
  metrics,
  counters,
  percentile: percentilesOf(histograms),
  measuredSeconds,
});

/** Compares a threshold with what was measured; one that nothing was measured for is missed. */
export function evaluate(threshold: Threshold, measured: Measured): ThresholdResult {
  const { expr, operator, bound } = threshold;
  const value = measuredBy(threshold, measured);
  if (typeof value === 'string') return { expr, value: null, ok: false, reason: value };
  return { expr, value, ok: OPERATORS[operator](value, bound) };
}

function measuredBy({ metric, statistic, percent, per }: Threshold, measured: Measured): number | string {
  const { metrics, counters, measuredSeconds } = measured;
  const times = metrics[metric];
  const counter = counters[metric];
  if (times === undefined && counter === undefined) {
    const known = [...Object.keys(metrics), ...Object.keys(counters)].sort();
    return known.length === 0
      ? 'nothing was measured'
      : `'${metric}' was not measured; these were: ${known.join(', ')}`;
  }
  const count = times?.count ?? counter ?? 0;
  if (statistic === 'count') return count;
  if (statistic === 'rate' && per === 'second')
    return measuredSeconds > 0 ? count / measuredSeconds : 'no phase was measured';
  if (statistic === 'rate') {
    const attempts = counters[attemptsOf(metric)];
    if (attempts === undefined || attempts === 0) return `no attempt was counted as '${attemptsOf(metric)}'`;
    return count / attempts;
  }
  if (times === undefined) return `'${metric}' is a counter: only count and rate apply`;
  if (times.count === 0) return `'${metric}' has no sample`;
  if (percent === undefined) return times.max;
  return measured.percentile(metric, percent) ?? `'${metric}' has no histogram`;
}

/** The counter of attempts that belongs to a metric: `http.attempts` for `http.errors`. */
const attemptsOf = (metric: string): string => metric.replace(/\.[^.]+$/, '.attempts');
