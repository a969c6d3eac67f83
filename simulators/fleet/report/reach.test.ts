import { describe, expect, it } from 'vitest';
import { Metrics } from '../measure/metrics.ts';
import { resultWith } from '../result/testing/result.ts';
import { percentText, reachOf, reachPlot } from './reach.ts';

/** `inTime` roll-outs of 1 to so many ms, and `late` ones of 1 to so many seconds. */
function ran({
  inTime,
  late = 0,
  missed = late,
  attempts,
}: {
  inTime: number;
  late?: number;
  missed?: number;
  attempts: number;
}) {
  const metrics = new Metrics();
  for (let ms = 1; ms <= inTime; ms += 1) metrics.time('rollout.ms', ms);
  for (let second = 1; second <= late; second += 1) metrics.time('rollout.late.ms', 1000 * second);
  return resultWith({
    histograms: metrics.snapshot().histograms,
    metrics: metrics.summaries(),
    counters: { 'rollout.attempts': attempts, 'rollout.missed': missed },
    rollouts: { missed: [], map: { bands: 1, column_ms: 10, cells: [] } },
  });
}

const plotOf = (result: ReturnType<typeof ran>) => {
  const reach = reachOf(result);
  if (reach === undefined) throw new Error('it has roll-outs');
  return reachPlot(result, reach);
};

describe('the reach of a roll-out', () => {
  it('is the share of attempts, and ends where it ended', () => {
    const { at, series } = plotOf(ran({ inTime: 72, missed: 28, attempts: 100 }));
    expect(series).toHaveLength(1);
    expect(series[0]?.values.at(-1)).toBeCloseTo(72);
    expect(Math.max(...(series[0]?.values ?? []).map((value) => value ?? 0))).toBeCloseTo(72);
    // 36 of 100 attempts had arrived after 36 ms.
    expect(series[0]?.values[at.findIndex((ms) => ms >= 36)]).toBeCloseTo(36, -0.5);
  });

  it('of an interrupted run ends at the few that arrived', () => {
    const result = ran({ inTime: 216, attempts: 1714 });
    expect(plotOf(result).series[0]?.values.at(-1)).toBeCloseTo(12.6, 1);
    expect(reachOf(result)).toMatchObject({ inTime: 216, pending: 1498, late: 0, lost: 0 });
  });

  it('draws late ones apart, up to where they came, and counts lost ones', () => {
    const result = ran({ inTime: 50, late: 30, missed: 40, attempts: 100 });
    expect(reachOf(result)).toEqual({ attempts: 100, inTime: 50, late: 30, lost: 10, pending: 10, split: true });
    const { series, about } = plotOf(result);
    expect(series.map(({ values }) => values.at(-1))).toEqual([50, 80]);
    expect(about).toMatch(/It ends at 50 %, and at 80 % with those that came late\.$/);
  });

  it('never climbs above what no robot reached', () => {
    const { series, about } = plotOf(ran({ inTime: 0, missed: 5, attempts: 5 }));
    expect(series[0]?.values.every((value) => value === 0)).toBe(true);
    expect(about).toMatch(/Less than half had in time\. It ends at 0 %/);
  });

  it('is not there without roll-outs', () => {
    expect(reachOf(resultWith())).toBeUndefined();
  });

  it('is 100 % only when it is all of them', () => {
    expect(percentText(99_999, 100_000)).toBe('99.99 %');
    expect(percentText(1, 100_000)).toBe('0.01 %');
    expect(percentText(100_000, 100_000)).toBe('100 %');
    expect(percentText(2, 3)).toBe('66.7 %');
  });
});
