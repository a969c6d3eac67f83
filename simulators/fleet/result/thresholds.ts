/**
 * Conditions a run must meet, e.g. `rollout.ms.p99<5s`, `http.errors.rate<1%`, `ping.ms.count>=100`.
 * Grammar: `metric.statistic operator number[unit]`. The metric is a name of the result's `metrics` or `counters`.
 */
import { nearest } from '../../../harness/common/nearest.ts';
import type { Summary } from '../measure/histograms.ts';
import { COUNTERS, DURATIONS, isCounter, isDuration } from '../measure/metric-names.ts';

const STATISTICS = ['count', 'p50', 'p90', 'p99', 'p999', 'max', 'rate'] as const;
export type Statistic = (typeof STATISTICS)[number];
const OPERATORS = ['<=', '>=', '==', '<', '>'] as const;
type Operator = (typeof OPERATORS)[number];
const TIME_MS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000 };

const RATES: Record<string, { factor: number; per: 'attempt' | 'second' }> = {
  '%': { factor: 0.01, per: 'attempt' },
  '/s': { factor: 1, per: 'second' },
};

export interface Threshold {
  expr: string;
  metric: string;
  statistic: Statistic;
  operator: Operator;
  /** Milliseconds for times, a fraction for percentages, events a second for `/s`, else a plain number. */
  bound: number;
  /** What `rate` means here: of all attempts, or a second. */
  per?: 'attempt' | 'second';
}

/** What a threshold came to. `value` is null when nothing was measured, and then it is not met. */
export interface ThresholdResult {
  expr: string;
  value: number | null;
  ok: boolean;
  reason?: string;
}

/** Throws RangeError that says what is accepted. */
export function parseThreshold(text: string): Threshold {
  const expr = text.replaceAll(/\s+/g, '');
  const match = /^([a-z0-9_.-]+)\.([a-z0-9]+)(<=|>=|==|<|>)(-?\d+(?:\.\d+)?)([a-zµ%/]*)$/i.exec(expr);
  if (match === null) throw refuse(text, "it must read 'metric.statistic<number[unit]', e.g. rollout.ms.p99<5s");
  const [, metric = '', statistic = '', operator = '', number = '', unit = ''] = match;
  if (!isOne(STATISTICS, statistic)) {
    throw refuse(text, `'${statistic}' is no statistic; accepted: ${STATISTICS.join(', ')}`);
  }
  if (!isOne(OPERATORS, operator)) throw refuse(text, `accepted operators: ${OPERATORS.join(' ')}`);
  if (number.startsWith('-')) throw refuse(text, `nothing that is measured goes below 0, '${number}${unit}' was given`);
  const base = { expr, metric, statistic, operator };
  if (statistic === 'count') {
    if (unit !== '') throw refuse(text, `a count has no unit, '${unit}' was given`);
    return { ...base, bound: Number(number) };
  }
  if (statistic === 'rate') {
    const kind = RATES[unit];
    if (kind === undefined) throw refuse(text, `a rate is a percentage of attempts (1%) or a number a second (10/s)`);
    return { ...base, bound: Number(number) * kind.factor, per: kind.per };
  }
  const factor = TIME_MS[unit];
  if (factor === undefined) {
    throw refuse(
      text,
      `${unit === '' ? 'a time needs a unit' : `'${unit}' is no unit of time`}; accepted: ns, us, ms, s, m`,
    );
  }
  return { ...base, bound: Number(number) * factor };
}

/**
 * As `parseThreshold`, for what a person wrote: a metric that no run can measure is refused too. Results of other versions may
 * know others.
 */
export function checkThreshold(text: string): Threshold {
  const threshold = parseThreshold(text);
  const { metric, statistic, per } = threshold;
  const duration = isDuration(metric);
  if (!duration && !isCounter(metric)) {
    const near = nearest(metric, [...DURATIONS, ...COUNTERS]);
    throw refuse(
      text,
      `nothing is measured as '${metric}'${near === undefined ? '' : `; did you mean ${near}?`}\n  accepted durations: ${DURATIONS.join(', ')}\n  accepted counters: ${COUNTERS.join(', ')}, http.status.NNN`,
    );
  }
  if (!duration && statistic !== 'count' && statistic !== 'rate') {
    throw refuse(text, `'${metric}' is a counter: only count and rate apply`);
  }
  if (per === 'attempt' && !isCounter(attemptsOf(metric))) {
    throw refuse(text, `attempts of '${metric}' are not counted; accepted: a number a second (10/s)`);
  }
  return threshold;
}

const refuse = (text: string, why: string): RangeError => new RangeError(`threshold '${text}': ${why}`);
const isOne = <const V extends readonly string[]>(values: V, value: string): value is V[number] =>
  values.includes(value);

/** What thresholds are judged by. */
export interface Measured {
  metrics: Record<string, Summary>;
  counters: Record<string, number>;
  /** Seconds in which measurements were taken. */
  measuredSeconds: number;
}

export function evaluate(threshold: Threshold, measured: Measured): ThresholdResult {
  const { expr, operator, bound } = threshold;
  const value = measuredBy(threshold, measured);
  if (typeof value === 'string') return { expr, value: null, ok: false, reason: value };
  return { expr, value, ok: compare(value, operator, bound) };
}

function measuredBy({ metric, statistic, per }: Threshold, measured: Measured): number | string {
  const { metrics, counters, measuredSeconds } = measured;
  const times = metrics[metric];
  const counter = counters[metric];
  if (times === undefined && counter === undefined) {
    const known = [...Object.keys(metrics), ...Object.keys(counters)].sort();
    return known.length === 0
      ? 'nothing was measured'
      : `nothing was measured as '${metric}'; measured were: ${known.join(', ')}`;
  }
  const count = times?.count ?? counter ?? 0;
  if (statistic === 'count') return count;
  if (statistic === 'rate' && per === 'second')
    return measuredSeconds > 0 ? count / measuredSeconds : 'no time was measured';
  if (statistic === 'rate') {
    const attempts = counters[attemptsOf(metric)];
    if (attempts === undefined || attempts === 0) return `no attempt was counted as '${attemptsOf(metric)}'`;
    return count / attempts;
  }
  if (times === undefined) return `'${metric}' is a counter: only count and rate apply`;
  return times.count === 0 ? `'${metric}' has no sample` : times[statistic];
}

/** `http.errors` are a share of `http.attempts`. */
const attemptsOf = (metric: string): string => metric.replace(/\.[^.]+$/, '.attempts');

function compare(value: number, operator: Operator, bound: number): boolean {
  switch (operator) {
    case '<':
      return value < bound;
    case '<=':
      return value <= bound;
    case '>':
      return value > bound;
    case '>=':
      return value >= bound;
    case '==':
      return value === bound;
  }
}
