import { expect, it } from 'vitest';
import { encode, histogram, recordMs } from '../measure/metrics.ts';
import { resultWith } from '../result/testing/result.ts';
import { FleetRecord } from './record.ts';

/** Measurements of a generator that was so late. */
function lateBy(ms: number, counters: Record<string, number> = {}) {
  const times = histogram();
  for (let action = 0; action < 100; action += 1) recordMs(times, ms);
  return { histograms: { 'schedule.lateness.ms': encode(times) }, counters };
}

/** Reasons for the verdict of a run that went on after an end of its process. */
function reasonsOf(before: ReturnType<typeof lateBy>, after: typeof before, more: readonly string[] = []): string[] {
  const first = new FleetRecord();
  first.addDisturbance({ kind: 'sync.errors', message: 'no answer' });
  const graded = first.measured(before);
  const second = new FleetRecord();
  second.resume(resultWith({ ...graded, verdict_reasons: [...graded.verdict_reasons, ...more] }));
  return second.measured(after).verdict_reasons;
}

it('gives a run that goes on one reason of a kind, by what stands now, and one piece of advice', () => {
  const alone = new FleetRecord().measured(lateBy(65)).verdict_reasons;
  expect(alone.length).toBeGreaterThan(1);
  const robots =
    'this machine carries about 1,200 robots of this scenario: use --robots 1200, or --shard on 2 machines';
  expect(reasonsOf(lateBy(71), lateBy(65), [robots])).toEqual(alone);
  expect(reasonsOf(lateBy(1200), lateBy(65))).toEqual(alone);
});

it('keeps what only an earlier process knew', () => {
  const stall = 'worker 1 stood still for 31 s';
  expect(reasonsOf(lateBy(1), lateBy(1), [stall])).toEqual([stall]);
  const failed = { 'sync.errors': 3 };
  expect(reasonsOf(lateBy(1, failed), lateBy(1, failed))).toEqual([
    'not by the scenario: 3 syncs of robots failed, the first with: no answer',
  ]);
  expect(reasonsOf(lateBy(1, failed), lateBy(1, { 'sync.errors': 4 }))).toEqual([
    'not by the scenario: 4 syncs of robots failed',
  ]);
});
