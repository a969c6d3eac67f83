/** Parses and evaluates thresholds, e.g. `rollout.ms{phase=storm}.p99<5s`. */

import type { Histogram } from 'hdr-histogram-js';
import { defined } from '../../../harness/common/defined.ts';
import { durationMs } from '../../../harness/common/units.ts';
import { nearest } from '../../../harness/common/usage.ts';
import {
  COUNTERS,
  combined,
  DURATIONS,
  decode,
  histogram,
  isCounter,
  isDuration,
  type Labels,
  merge,
  ofWhole,
  percentileMs,
  phaseLabel,
  type Summary,
  summary,
  unlabelled,
} from '../measure/metrics.ts';
import { PHASES, type PhaseFields, type Scenario, TRAFFIC, TRAFFIC_NAMES } from '../scenario/scenario.ts';
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
  labels?: Labels;
  statistic: Statistic;
  percent?: number;
  operator: Operator;
  /** Limit: milliseconds of a duration, a rate from 0 to 1, events per second, or a count. */
  bound: number;
  per?: 'attempt' | 'second';
}

/** Without a measurement, `value` is null and `ok` is false. */
export type ThresholdResult = FleetResult['thresholds'][number];

/** Throws RangeError, which shows the accepted syntax. */
export function parseThreshold(text: string): Threshold {
  const expr = text.replaceAll(/\s+/g, '');
  const match =
    /^([a-z0-9_.-]+?)(\{[^{}]*\})?\.([a-z]+|p\d+(?:\.\d+)?)(<=|>=|==|<|>)(-?\d+(?:\.\d+)?)([a-zµ%/]*)$/i.exec(expr);
  if (match === null) throw refuse(text, "it must read 'metric.statistic<number[unit]', e.g. rollout.ms.p99<5s");
  const [, metric = '', part = '', wanted = '', operator = '', number = '', unit = ''] = match;
  // Percentage, e.g. 99.9 of `p99.9` and of the older name `p999`.
  const [, digits] = /^p(\d{1,2}(?:\.\d+)?|999)$/.exec(wanted) ?? [];
  const percent = digits === '999' ? 99.9 : Number(digits) || undefined;
  const statistic = percent === undefined ? STATISTICS.find((known) => known === wanted) : 'percentile';
  if (statistic === undefined) {
    const accepted = `${STATISTICS.join(', ')}, and any percentile, e.g. p50, p95, p99.9`;
    throw refuse(text, `'${wanted}' is not a statistic; accepted: ${accepted}`);
  }
  if (number.startsWith('-')) throw refuse(text, `measurements are never below 0, but '${number}${unit}' is`);
  const base: Omit<Threshold, 'bound'> = {
    expr,
    metric,
    statistic,
    operator: operator as Operator,
    ...defined({ percent, labels: part === '' ? undefined : labelsIn(part, text) }),
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

function labelsIn(part: string, text: string): Labels {
  const labels: Labels = {};
  for (const pair of part.slice(1, -1).split(',')) {
    const [, key, value] = /^(class|phase)=([a-z0-9_-]+)$/.exec(pair) ?? [];
    if (key === undefined)
      throw refuse(text, `'${pair}' names no part; accepted: class=NAME, phase=KIND, phase=NUMBER`);
    if (labels[key as keyof Labels] !== undefined) throw refuse(text, `'${key}' is there twice`);
    labels[key as keyof Labels] = value;
  }
  return labels;
}

/** `wanted` may be `3-storm`, `3` or `storm` for the label `3-storm`. */
function isPhase(label: string, wanted: string): boolean {
  const end = label.indexOf('-');
  return [label, label.slice(0, end), label.slice(end + 1)].includes(wanted);
}

export function meant(given: string, known: readonly string[]): string {
  const near = nearest(given, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/** Throws RangeError for wrong syntax, an unknown metric, class or phase, or a metric that no phase measures. */
export function checkThreshold(text: string, parts?: { classes: readonly string[]; phases: readonly PhaseFields[] }) {
  const threshold = parseThreshold(text);
  const { metric, statistic, per, labels: { class: name, phase } = {} } = threshold;
  const { classes, phases } = parts ?? {};
  if (classes !== undefined && name !== undefined && !classes.includes(name)) {
    const accepted = classes.length === 0 ? 'the scenario has no classes' : `accepted: ${classes.join(', ')}`;
    throw refuse(text, `there is no class '${name}'; ${accepted}${meant(name, classes)}`);
  }
  const kinds = phases?.map(({ do: kind }) => kind);
  const known = kinds?.map((kind, index) => phaseLabel(index, kind));
  if (known !== undefined && phase !== undefined && !known.some((label) => isPhase(label, phase)))
    throw refuse(
      text,
      `there is no phase '${phase}'; accepted: ${known.join(', ')}, or the number or the kind alone` +
        meant(phase, [...known, ...(kinds ?? [])]),
    );
  const duration = isDuration(metric);
  if (!duration && !isCounter(metric)) {
    const hint = meant(metric, [...DURATIONS, ...COUNTERS]);
    const durations = DURATIONS.join(', ');
    const counters = `${COUNTERS.join(', ')}, http.status.NNN`;
    const accepted = `  accepted durations: ${durations}\n  accepted counters: ${counters}`;
    throw refuse(text, `there is no metric '${metric}'${hint}\n${accepted}`);
  }
  if (!duration && statistic !== 'count' && statistic !== 'rate')
    throw refuse(text, `'${metric}' is a counter: only count and rate apply`);
  if (per === 'attempt' && !isCounter(attemptsOf(metric)))
    throw refuse(text, `attempts of '${metric}' are not counted; accepted: a number per second (10/s)`);
  // Phase kind or traffic field that alone produces the metric, e.g. `rollout`; undefined if no single one does.
  const [begin] = metric.split('.');
  const traffic = TRAFFIC_NAMES.find((name) => TRAFFIC[name].action === begin);
  const need = begin === 'deploy' ? 'rollout' : (traffic ?? PHASES.find((kind) => kind === begin));
  const there = phases?.flatMap((each) => [each.do, ...TRAFFIC_NAMES.filter((name) => each[name] !== undefined)]);
  if (need !== undefined && there?.includes(need) === false)
    throw refuse(text, `'${metric}' needs a phase with '${need}'; the phases have ${[...new Set(there)].join(', ')}`);
  return threshold;
}

const refuse = (text: string, why: string): RangeError => new RangeError(`threshold '${text}': ${why}`);

export interface Measured {
  metrics: Record<string, Summary>;
  counters: Record<string, number>;
  times(name: string): Histogram | undefined;
  measuredSeconds: number;
  phases: readonly { label: string; seconds: number }[];
}

type Figures = Pick<FleetResult, 'metrics' | 'counters' | 'histograms' | 'measured_seconds' | 'phases'>;

export const measuredIn = ({ metrics, counters, histograms, ...result }: Figures): Measured => ({
  metrics,
  counters,
  times: (name) => (histograms[name] === undefined ? undefined : decode(histograms[name])),
  measuredSeconds: result.measured_seconds,
  // Excludes actions that a user started, which are no phases of the scenario.
  phases: result.phases.flatMap(({ do: kind, measured, by_hand: byHand, duration_ms: ms }, index) =>
    measured && byHand === undefined ? [{ label: phaseLabel(index, kind), seconds: ms / 1000 }] : [],
  ),
});

export function evaluate(threshold: Threshold, measured: Measured): ThresholdResult {
  const { expr, operator, bound } = threshold;
  const value = measuredBy(threshold, measured);
  if (typeof value === 'string') return { expr, value: null, ok: false, reason: value };
  return { expr, value, ok: OPERATORS[operator](value, bound) };
}

/** Adds `rollout.missed.count==0` for a scenario with measured roll-outs, unless `rollout.missed` has a threshold. */
export function evaluatedThresholds(
  { scenario, thresholds }: { scenario: Scenario; thresholds: readonly string[] },
  measured: Measured,
): ThresholdResult[] {
  const wanted = [...(scenario.thresholds ?? []), ...thresholds].map(parseThreshold);
  const rollsOut = scenario.phases.some((phase) => phase.do === 'rollout' && phase.measure !== false);
  if (rollsOut && !wanted.some(({ metric, labels }) => metric === 'rollout.missed' && labels === undefined))
    wanted.push(parseThreshold('rollout.missed.count==0'));
  const byExpression = new Map(wanted.map((threshold) => [threshold.expr, threshold]));
  return [...byExpression.values()].map((threshold) => evaluate(threshold, measured));
}

function measuredBy({ metric, labels, statistic, percent, per }: Threshold, measured: Measured): number | string {
  const found = labels === undefined ? measured : partOf(measured, labels, metric);
  const { metrics, counters, measuredSeconds } = found;
  const times = metrics[metric];
  const counter = counters[metric];
  if (times === undefined && counter === undefined) {
    if (labels !== undefined) return `'${metric}' was not measured in that part of the run`;
    const known = Object.keys(ofWhole({ ...metrics, ...counters })).sort();
    if (known.length === 0) return 'nothing was measured';
    return `'${metric}' was not measured; these were: ${known.join(', ')}`;
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
  const all = found.times(metric);
  return all === undefined ? `'${metric}' has no histogram` : percentileMs(all, percent);
}

export const summaryOfClass = (result: Figures, metric: string, name: string) =>
  partOf(measuredIn(result), { class: name }, metric).metrics[metric];

export const classesIn = ({ metrics }: Pick<FleetResult, 'metrics'>): string[] =>
  [...new Set(Object.keys(metrics).flatMap((key) => unlabelled(key).labels?.class ?? []))].sort();

function partOf(measured: Measured, wanted: Labels, metric: string): Measured {
  const own = (figures: Readonly<Record<string, unknown>>) =>
    Object.keys(figures).filter((key) => {
      const { name, labels } = unlabelled(key);
      const isIn =
        labels !== undefined &&
        (wanted.class === undefined || labels.class === wanted.class) &&
        (wanted.phase === undefined || (labels.phase !== undefined && isPhase(labels.phase, wanted.phase)));
      return isIn && (name === metric || name === attemptsOf(metric));
    });
  const counts = own(measured.counters).map((key) => ({ [unlabelled(key).name]: measured.counters[key] ?? 0 }));
  const whole = histogram(2);
  for (const key of own(measured.metrics)) {
    const times = measured.times(key);
    if (times !== undefined) merge(whole, times);
  }
  const phases = measured.phases.filter(({ label }) => wanted.phase === undefined || isPhase(label, wanted.phase));
  return {
    metrics: whole.totalCount === 0 ? {} : { [metric]: summary(whole) },
    counters: combined(counts),
    times: () => whole,
    measuredSeconds: phases.reduce((sum, { seconds }) => sum + seconds, 0),
    phases,
  };
}

const attemptsOf = (metric: string): string => metric.replace(/\.[^.]+$/, '.attempts');
