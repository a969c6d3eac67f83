import { decode, labelled, percentileMs, unlabelled } from '../measure/metrics.ts';
import { type FleetResult, figuresCount, isMissed, OWN } from './result.ts';

export interface FigureChange {
  /** Name of the figure, e.g. `rollout.ms{phase=2-rollout}.p99` or `http.errors.rate`. */
  name: string;
  /** Milliseconds, or a rate from 0 to 1; null if the first run lacks the figure. */
  before: number | null;
  after: number | null;
  change: 'worse' | 'better' | 'same' | 'gone' | 'new';
}

interface FleetComparison {
  figures: FigureChange[];
  missed: string[];
  settings: { name: string; before: string; after: string }[];
  doubts: string[];
  reasons: string[];
}

/** Standard errors beyond which a difference counts; chance exceeds 4 in one of some 16,000 comparisons. */
const DEVIATIONS = 4;
/** Factor and milliseconds beyond which a change counts; equal runs differed by 1.52 times and 0.51 ms. */
const LEAST_FACTOR = 1.5;
const LEAST_MS = 1;

const FAILURES = /\.(errors|missed)$/;
const PERCENTS = [50, 99] as const;
const RUNS = ['first', 'second'] as const;
const SETTINGS = ['scenario', 'robots', 'uplink', 'seed', 'key_bits', 'workers', 'platform'] as const;

export function compareFleets(before: FleetResult, after: FleetResult): FleetComparison {
  const durations = Object.keys({ ...before.histograms, ...after.histograms }).filter(
    // Leaves out durations of late roll-outs, which a better run lacks: `rollout.missed.rate` compares them.
    (name) => !OWN.test(name) && unlabelled(name).name !== 'rollout.late.ms',
  );
  const counters = Object.keys({ ...before.counters, ...after.counters });
  const errors = counters.filter((name) => FAILURES.test(unlabelled(name).name));
  const metBefore = new Set(before.thresholds.filter(({ ok }) => ok).map(({ expr }) => expr));
  return {
    figures: [
      ...durations.sort().flatMap((name) => PERCENTS.map((percent) => durationChange(name, percent, before, after))),
      ...errors.sort().flatMap((name) => rateChange(name, before, after) ?? []),
    ],
    missed: after.thresholds.flatMap((one) => (isMissed(one) && metBefore.has(one.expr) ? [one.expr] : [])),
    settings: SETTINGS.flatMap((name) => {
      const [old, now] = [String(before[name]), String(after[name])];
      return old === now ? [] : [{ name, before: old, after: now }];
    }),
    doubts: [before, after].flatMap(({ verdict, verdict_reasons: why }, index) =>
      verdict === 'suspect' ? [`the load generator of the ${RUNS[index]} run was suspect: ${why.join('; ')}`] : [],
    ),
    reasons: [
      ...[before, after].flatMap((result, index) => {
        const what = result.complete ? 'measured its own load generator' : 'is not complete';
        return figuresCount(result) ? [] : [`the ${RUNS[index]} run ${what}`];
      }),
      ...(before.scenario === after.scenario ? [] : ['the runs are of different scenarios']),
    ],
  };
}

function durationChange(name: string, percent: number, before: FleetResult, after: FleetResult): FigureChange {
  const share = percent / 100;
  const [old, now] = [before, after].map(({ histograms }) => {
    const text = histograms[name];
    if (text === undefined) return undefined;
    const times = decode(text);
    const error = 100 * (DEVIATIONS / Math.SQRT2) * Math.sqrt((share * (1 - share)) / Math.max(1, times.totalCount));
    const from = (wanted: number): number => percentileMs(times, Math.min(100, Math.max(0, wanted)));
    const high = percent + error >= 100 ? Number.POSITIVE_INFINITY : from(percent + error);
    return { at: from(percent), low: from(percent - error), high };
  });
  const isAbove = (one: typeof old, other: typeof old): boolean =>
    one !== undefined && other !== undefined && one.low > other.high * LEAST_FACTOR && one.at - other.at > LEAST_MS;
  return changeOf(`${name}.p${percent}`, old?.at, now?.at, isAbove(now, old), isAbove(old, now));
}

function rateChange(name: string, before: FleetResult, after: FleetResult): FigureChange | undefined {
  const { name: plain, labels = {} } = unlabelled(name);
  const [old, now] = [before, after].map(({ counters }) => {
    const attempts = counters[labelled(plain.replace(FAILURES, '.attempts'), labels)] ?? 0;
    return attempts === 0 ? undefined : { rate: (counters[name] ?? 0) / attempts, attempts };
  });
  if (old === undefined && now === undefined) return undefined;
  if (old === undefined || now === undefined) return changeOf(`${name}.rate`, old?.rate, now?.rate);
  const pooled = (old.rate * old.attempts + now.rate * now.attempts) / (old.attempts + now.attempts);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / old.attempts + 1 / now.attempts));
  const [more, least] = [now.rate - old.rate, DEVIATIONS * error];
  return changeOf(`${name}.rate`, old.rate, now.rate, more > least, -more > least);
}

function changeOf(name: string, before?: number, after?: number, isWorse = false, isBetter = false): FigureChange {
  const judged = isWorse ? 'worse' : isBetter ? 'better' : 'same';
  const change = before === undefined ? 'new' : after === undefined ? 'gone' : judged;
  return { name, before: before ?? null, after: after ?? null, change };
}
