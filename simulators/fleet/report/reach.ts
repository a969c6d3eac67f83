/** How far the roll-outs of a run came: shares of attempts, in time, late, lost or still under way at its end. */
import { ticks } from '../../../harness/common/axis.ts';
import { readableDuration } from '../../../harness/common/durations.ts';
import { decode, percentileMs } from '../measure/metrics.ts';
import type { FleetResult } from '../result/result.ts';
import type { Plot } from './plots.ts';

export interface Reach {
  attempts: number;
  inTime: number;
  /** Read after the time that the scenario allows. */
  late: number;
  /** Not read before the run ended. With an older result, late ones are among them. */
  lost: number;
  /** Neither arrived nor missed when the run ended. */
  pending: number;
  /** Whether late ones are told from lost ones. */
  split: boolean;
}

/** Undefined for a run without roll-outs. */
export function reachOf({ counters, metrics, rollouts }: FleetResult): Reach | undefined {
  const inTime = metrics['rollout.ms']?.count ?? 0;
  // Results of old versions do not count attempts.
  const missed = counters['rollout.missed'] ?? 0;
  const attempts = counters['rollout.attempts'] ?? inTime + missed;
  if (attempts === 0) return undefined;
  const late = Math.min(metrics['rollout.late.ms']?.count ?? 0, missed);
  return {
    attempts,
    inTime,
    late,
    lost: missed - late,
    pending: Math.max(0, attempts - inTime - missed),
    split: rollouts !== undefined,
  };
}

const STEPS = [...Array.from({ length: 100 }, (_, percent) => percent), 99.5, 99.9, 100];

/** The share of attempts that had arrived by each time after the POST. It ends where the roll-out ended, not at 100 %. */
export function reachPlot(result: FleetResult, reach: Reach): Plot {
  const { histograms, phases } = result;
  const inTime = curve(histograms['rollout.ms'], reach.inTime / reach.attempts, 0);
  const late = curve(histograms['rollout.late.ms'], reach.late / reach.attempts, reach.inTime / reach.attempts);
  const limits = phases.flatMap(({ within_ms }) => within_ms ?? []);
  const end = 1.04 * ([...inTime, ...late].reduce((latest, [ms]) => Math.max(latest, ms), 0) || Math.max(1, ...limits));
  const at = [...new Set([0, ...inTime.map(([ms]) => ms), ...late.map(([ms]) => ms), end])].sort((a, b) => a - b);
  const series = [{ name: 'arrived in time', values: at.map((ms) => shareAt(inTime, ms)) }];
  const firstLate = late[0]?.[0];
  return {
    id: 'reach',
    title: 'Share of roll-outs that had arrived',
    about: sentence(result, reach),
    x: { unit: 'ms', from: 0, to: end, ticks: ticks(0, end, 8) },
    y: { unit: '%', from: 0, to: 100, ticks: [0, 25, 50, 75, 100] },
    at,
    series:
      firstLate === undefined
        ? series
        : [
            ...series,
            {
              name: 'with those that came late',
              tone: 'late',
              values: at.map((ms) => (ms < firstLate ? null : shareAt(late, ms))),
            },
          ],
    bands: [],
  };
}

/** Pairs of a time and the share (%) that had arrived by then, ascending, from `base` on. */
function curve(encoded: string | undefined, share: number, base: number): [ms: number, percent: number][] {
  if (encoded === undefined || share === 0) return [];
  const from = decode(encoded);
  return STEPS.map((percent) => [percentileMs(from, percent), 100 * base + percent * share]);
}

/** The last share reached by that time; 0 before the first. */
const shareAt = (points: readonly [number, number][], ms: number): number =>
  points.findLast(([at]) => at <= ms)?.[1] ?? points[0]?.[1] ?? 0;

function sentence({ histograms }: FleetResult, reach: Reach): string {
  const encoded = histograms['rollout.ms'];
  const half =
    encoded === undefined || reach.inTime * 2 < reach.attempts
      ? 'Less than half had in time.'
      : `Half had after ${readableDuration(percentileMs(decode(encoded), (50 * reach.attempts) / reach.inTime))}.`;
  return `By time after the POST, of all ${reach.attempts.toLocaleString('en')} attempts. ${half} It ends at ${percentText(reach.inTime, reach.attempts)}${reach.late > 0 ? `, and at ${percentText(reach.inTime + reach.late, reach.attempts)} with those that came late` : ''}.`;
}

/** A share that is 100 % only when it is all of them. */
export function percentText(part: number, of: number): string {
  const percent = of === 0 ? 0 : (100 * part) / of;
  if (part < of && percent > 99.99) return '99.99 %';
  if (part > 0 && percent < 0.01) return '0.01 %';
  return `${Number(percent.toFixed(percent > 99 || percent < 1 ? 2 : 1))} %`;
}
